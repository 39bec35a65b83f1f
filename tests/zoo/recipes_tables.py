"""Models of tables: scikit-learn through skl2onnx, LightGBM and XGBoost through onnxmltools."""
import numpy as np
from recipe import Recipe, given, reals

FEATURES, ROWS = 6, 8
NUMBERS = {"x": reals(ROWS, FEATURES)}
TREES = {"n_estimators": 6, "max_depth": 4, "random_state": 0}
OPSETS = {"": 20, "ai.onnx.ml": 3}


def _data(classes=3, rows=120):
    random = np.random.RandomState(7)
    x = random.standard_normal((rows, FEATURES)).astype(np.float32)
    score = x @ random.standard_normal((FEATURES, max(classes, 1))) + np.sin(3 * x[:, :1])
    return x, (score[:, 0] if classes == 0 else score.argmax(1)).astype(np.float32 if classes == 0 else np.int64)


def _texts(labels):
    return np.array([f"class {label}" for label in labels])


def _zip_map(model, on):
    import sklearn.base

    known = sklearn.base.is_classifier(model) and hasattr(model, "predict_proba")
    return {"options": {id(model): {"zipmap": on}}} if known else {}


def _number_type(width):
    from skl2onnx.common.data_types import FloatTensorType

    return [("x", FloatTensorType([None, width]))]


def sklearn_recipe(name, build, classes=3, zip_map=False, texts=False, opsets=None, specs=None):
    """build() gives an estimator that is not fitted."""
    def make():
        from skl2onnx import to_onnx

        x, y = _data(classes)
        model = build()
        model.fit(x, _texts(y) if texts else y)
        made = to_onnx(model, initial_types=_number_type(FEATURES), target_opset=opsets or OPSETS, **_zip_map(model, zip_map))
        return made, specs or NUMBERS

    return Recipe(name, "skl2onnx", "tabular" if "forest" not in name and "tree" not in name and "boost" not in name else "trees",
                  make)


def _sk(path, **settings):
    """A class of scikit-learn by its path, made with these settings."""
    def build():
        import importlib

        module, _, name = path.rpartition(".")
        return getattr(importlib.import_module(f"sklearn.{module}"), name)(**settings)

    return build


def _pipe(*steps):
    def build():
        from sklearn.pipeline import make_pipeline

        return make_pipeline(*[step() for step in steps])

    return build


def _mixed_columns():
    """Numbers and texts of a table: imputed, scaled, one of several, an estimator behind them."""
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    class Table:
        """Columns by name, as ColumnTransformer asks for them."""

    x, y = _data(2)
    towns = np.array(["Bonn", "Kiel", "Ulm"])[np.abs(x[:, 4:5] * 10).astype(int) % 3]
    table = np.concatenate([x[:, :2].astype(object), towns.astype(object)], 1)
    parts = ColumnTransformer([("numbers", make_pipeline(SimpleImputer(), StandardScaler()), [0, 1]),
                               ("town", OneHotEncoder(handle_unknown="ignore"), [2])])
    model = make_pipeline(parts, LogisticRegression()).fit(table, y)
    types = [("a", FloatTensorType([None, 1])), ("b", FloatTensorType([None, 1])), ("town", StringTensorType([None, 1]))]
    made = to_onnx(model, initial_types=types, target_opset=OPSETS, options={id(model): {"zipmap": False}})
    return made, {"a": reals(4, 1), "b": reals(4, 1), "town": given([["Ulm"], ["Bonn"], ["Rom"], ["Kiel"]], "str")}


def _text_classifier(vectorizer, **settings):
    def make():
        import sklearn.feature_extraction.text as text
        from skl2onnx import to_onnx
        from skl2onnx.common.data_types import StringTensorType
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline

        said = ["the cat sat on the mat", "dogs bark at night", "a cat and a dog", "stocks fell on monday", "markets rise",
                "the bank cut rates", "my dog sleeps", "shares of the bank rise"]
        words = getattr(text, vectorizer)(**settings)
        model = make_pipeline(words, LogisticRegression()).fit(said, [0, 0, 0, 1, 1, 1, 0, 1])
        made = to_onnx(model, initial_types=[("x", StringTensorType([None, 1]))], target_opset=OPSETS,
                       options={id(model): {"zipmap": False}, id(words): {"locale": "C"}})
        return made, {"x": given([["the dog sat at the bank"], ["rates rise"], ["nothing known here"]], "str")}

    return make


def _encoded(encoder):
    """Categories as texts, encoded; a tree behind them."""
    def make():
        import sklearn.preprocessing as preprocessing
        from skl2onnx import to_onnx
        from skl2onnx.common.data_types import StringTensorType
        from sklearn.pipeline import make_pipeline
        from sklearn.tree import DecisionTreeClassifier

        words = np.array([["a", "x"], ["b", "y"], ["c", "x"], ["a", "y"], ["b", "x"], ["c", "z"]], dtype=object)
        model = make_pipeline(getattr(preprocessing, encoder)(), DecisionTreeClassifier(random_state=0))
        model.fit(words, [0, 1, 1, 0, 1, 0])
        made = to_onnx(model, initial_types=[("x", StringTensorType([None, 2]))], target_opset=OPSETS,
                       options={id(model): {"zipmap": False}})
        return made, {"x": given([["a", "z"], ["b", "y"], ["c", "x"]], "str")}

    return make


def boosted(name, package, build, classes=3, zip_map=False, specs=None):
    """LightGBM or XGBoost."""
    def make():
        import onnxmltools
        from onnxmltools.convert.common.data_types import FloatTensorType

        x, y = _data(classes)
        model = build().fit(x, y)
        convert = {"LightGBM": onnxmltools.convert_lightgbm, "XGBoost": onnxmltools.convert_xgboost}[package]
        options = {"zipmap": zip_map} if package == "LightGBM" and classes else {}
        types = [("x", FloatTensorType([None, FEATURES]))]
        return convert(model, initial_types=types, target_opset=15, **options), specs or NUMBERS

    return Recipe(name, f"onnxmltools, {package}", "trees", make)


def _light(kind, **settings):
    def build():
        import lightgbm

        return getattr(lightgbm, kind)(n_estimators=6, num_leaves=7, random_state=0, verbose=-1, n_jobs=1, **settings)

    return build


def _extreme(kind, **settings):
    def build():
        import xgboost

        return getattr(xgboost, kind)(n_estimators=6, max_depth=3, random_state=0, n_jobs=1, base_score=0.5, **settings)

    return build


def _voting():
    from sklearn.ensemble import VotingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB

    return VotingClassifier([("a", LogisticRegression()), ("b", GaussianNB())], voting="soft", flatten_transform=False)


def _one_versus_rest():
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    return OneVsRestClassifier(LogisticRegression())


def _calibrated():
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.svm import LinearSVC

    return CalibratedClassifierCV(LinearSVC(random_state=0), cv=2)


SCALE, IMPUTE = _sk("preprocessing.StandardScaler"), _sk("impute.SimpleImputer")
LOGISTIC = _sk("linear_model.LogisticRegression")
MISSING = {"x": given([[0.5, float("nan"), -1.0, 2.0, 0.0, 1.0], [1.5, 0.25, float("nan"), -2.0, 0.5, -1.0]], "float32")}
RECIPES = [
    sklearn_recipe("logistic_regression", LOGISTIC),
    sklearn_recipe("logistic_regression_zip_map", LOGISTIC, zip_map=True),
    sklearn_recipe("logistic_regression_texts_zip_map", LOGISTIC, zip_map=True, texts=True),
    sklearn_recipe("logistic_regression_two", LOGISTIC, classes=2),
    sklearn_recipe("linear_regression", _sk("linear_model.LinearRegression"), classes=0),
    sklearn_recipe("linear_svc", _sk("svm.LinearSVC", random_state=0)),
    sklearn_recipe("svc_rbf", _sk("svm.SVC", probability=True, random_state=0)),
    sklearn_recipe("svc_poly", _sk("svm.SVC", kernel="poly", degree=2)),
    sklearn_recipe("svr", _sk("svm.SVR"), classes=0),
    sklearn_recipe("one_class_svm", _sk("svm.OneClassSVM")),
    sklearn_recipe("tree_classifier", _sk("tree.DecisionTreeClassifier", max_depth=5, random_state=0)),
    sklearn_recipe("tree_classifier_texts", _sk("tree.DecisionTreeClassifier", max_depth=4, random_state=0), texts=True),
    sklearn_recipe("tree_regressor", _sk("tree.DecisionTreeRegressor", max_depth=5, random_state=0), classes=0),
    sklearn_recipe("forest_classifier", _sk("ensemble.RandomForestClassifier", **TREES)),
    sklearn_recipe("forest_classifier_zip_map", _sk("ensemble.RandomForestClassifier", **TREES), zip_map=True),
    sklearn_recipe("forest_regressor", _sk("ensemble.RandomForestRegressor", **TREES), classes=0),
    sklearn_recipe("forest_regressor_ml_5", _sk("ensemble.RandomForestRegressor", **TREES), classes=0,
                   opsets={"": 20, "ai.onnx.ml": 5}),
    sklearn_recipe("forest_extra", _sk("ensemble.ExtraTreesClassifier", **TREES), classes=2),
    sklearn_recipe("forest_isolation", _sk("ensemble.IsolationForest", n_estimators=6, max_samples=16, random_state=0)),
    sklearn_recipe("gradient_boosting_classifier", _sk("ensemble.GradientBoostingClassifier", **{**TREES, "max_depth": 3})),
    sklearn_recipe("gradient_boosting_two", _sk("ensemble.GradientBoostingClassifier", **{**TREES, "max_depth": 3}), classes=2),
    sklearn_recipe("gradient_boosting_regressor", _sk("ensemble.GradientBoostingRegressor", **{**TREES, "max_depth": 3}), classes=0),
    sklearn_recipe("ada_boost", _sk("ensemble.AdaBoostClassifier", n_estimators=5, random_state=0)),
    sklearn_recipe("neighbors", _sk("neighbors.KNeighborsClassifier", n_neighbors=3)),
    sklearn_recipe("k_means", _sk("cluster.KMeans", n_clusters=4, n_init=1, random_state=0)),
    sklearn_recipe("naive_bayes", _sk("naive_bayes.GaussianNB")),
    sklearn_recipe("perceptron", _sk("neural_network.MLPClassifier", hidden_layer_sizes=(16,), max_iter=50, random_state=0)),
    sklearn_recipe("gaussian_process", _sk("gaussian_process.GaussianProcessRegressor"), classes=0),
    sklearn_recipe("voting", _voting),
    sklearn_recipe("one_versus_rest", _one_versus_rest),
    sklearn_recipe("calibrated", _calibrated, classes=2),
    sklearn_recipe("scaled_logistic", _pipe(IMPUTE, SCALE, LOGISTIC), specs=MISSING),
    sklearn_recipe("normalized_svc", _pipe(_sk("preprocessing.Normalizer"), _sk("preprocessing.Binarizer"), LOGISTIC)),
    sklearn_recipe("ranges_polynomial", _pipe(_sk("preprocessing.MinMaxScaler"), _sk("preprocessing.PolynomialFeatures"),
                                              _sk("linear_model.Ridge")), classes=0),
    sklearn_recipe("components_forest", _pipe(_sk("preprocessing.RobustScaler"), _sk("decomposition.PCA", n_components=3),
                                              _sk("ensemble.RandomForestClassifier", **TREES))),
    sklearn_recipe("bins_logistic", _pipe(_sk("preprocessing.KBinsDiscretizer", n_bins=4, encode="onehot-dense", quantile_method="averaged_inverted_cdf"),
                                          LOGISTIC)),
    sklearn_recipe("selected_elastic", _pipe(_sk("feature_selection.VarianceThreshold"), _sk("linear_model.ElasticNet")), classes=0),
    Recipe("mixed_columns", "skl2onnx", "tabular", _mixed_columns),
    Recipe("text_counts", "skl2onnx", "language", _text_classifier("CountVectorizer")),
    Recipe("text_tfidf", "skl2onnx", "language", _text_classifier("TfidfVectorizer", ngram_range=(1, 2))),
    Recipe("categories_one_hot", "skl2onnx", "tabular", _encoded("OneHotEncoder")),
    Recipe("categories_ordinal", "skl2onnx", "tabular", _encoded("OrdinalEncoder")),
    boosted("lightgbm_classifier", "LightGBM", _light("LGBMClassifier")),
    boosted("lightgbm_two_zip_map", "LightGBM", _light("LGBMClassifier"), classes=2, zip_map=True),
    boosted("lightgbm_regressor", "LightGBM", _light("LGBMRegressor"), classes=0),
    boosted("lightgbm_missing", "LightGBM", _light("LGBMRegressor"), classes=0, specs=MISSING),
    boosted("xgboost_missing", "XGBoost", _extreme("XGBRegressor"), classes=0, specs=MISSING),
    boosted("lightgbm_random_forest", "LightGBM", _light("LGBMClassifier", boosting_type="rf", bagging_freq=1,
                                                         bagging_fraction=0.7), classes=2),
    boosted("xgboost_classifier", "XGBoost", _extreme("XGBClassifier")),
    boosted("xgboost_two", "XGBoost", _extreme("XGBClassifier"), classes=2),
    boosted("xgboost_regressor", "XGBoost", _extreme("XGBRegressor"), classes=0),
]
