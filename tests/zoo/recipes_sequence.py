"""Networks over time and over tables that are no transformers of a library: speech, time series, recommenders."""
from recipe import given, reals, torch_recipe, whole


def _voice_detector():
    """Frames, a transform, convolutions, an LSTM whose state the caller keeps."""
    import torch
    from torch import nn

    class Detector(nn.Module):
        def __init__(self):
            super().__init__()
            self.basis = nn.Conv1d(1, 34, 32, 16, bias=False)
            self.body = nn.Sequential(nn.Conv1d(17, 24, 3, 1, 1), nn.ReLU(), nn.Conv1d(24, 16, 3, 2, 1), nn.ReLU())
            self.cell, self.head = nn.LSTMCell(16, 16), nn.Conv1d(16, 1, 1)

        def forward(self, x, h, c):
            y = self.basis(nn.functional.pad(x, (0, 16), mode="reflect").unsqueeze(1))
            y = self.body((y[:, :17] ** 2 + y[:, 17:] ** 2).sqrt())
            h, c = self.cell(y.mean(-1), (h, c))
            return self.head(h.relu().unsqueeze(-1)).sigmoid().squeeze(-1), h, c

    return Detector()


def _recurrent(kind, layers=1, both=False):
    from torch import nn

    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(100, 16)
            self.body = getattr(nn, kind)(16, 24, layers, batch_first=True, bidirectional=both)
            self.head = nn.Linear(48 if both else 24, 9)

        def forward(self, x):
            return self.head(self.body(self.embed(x))[0])

    return Tagger()


def _dilated_in_time():
    from torch import nn

    class Block(nn.Module):
        def __init__(self, dilation):
            super().__init__()
            self.pad = 2 * dilation
            self.conv = nn.utils.weight_norm(nn.Conv1d(8, 16, 3, dilation=dilation))
            self.out = nn.Conv1d(8, 8, 1)

        def forward(self, x):
            y = self.conv(nn.functional.pad(x, (self.pad, 0)))
            return x + self.out(y[:, :8].tanh() * y[:, 8:].sigmoid())

    return nn.Sequential(nn.Conv1d(3, 8, 1), *[Block(2 ** i) for i in range(3)], nn.Conv1d(8, 2, 1))


def _keywords():
    """Depthwise separable convolutions over a spectrogram."""
    from torch import nn

    return nn.Sequential(nn.Conv2d(1, 16, (10, 4), (2, 2), (5, 1)), nn.BatchNorm2d(16), nn.ReLU(),
                         nn.Conv2d(16, 16, 3, 1, 1, groups=16), nn.Conv2d(16, 24, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Linear(24, 12), nn.LogSoftmax(-1))


def _spectrogram():
    import torch
    from torch import nn

    class Spectrogram(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("window", torch.hann_window(32))
            self.mel = nn.Linear(17, 8, bias=False)
            self.gru = nn.GRU(8, 12, batch_first=True)

        def forward(self, x):
            y = torch.stft(x, 32, 16, window=self.window, center=False, return_complex=True)
            power = torch.view_as_real(y).pow(2).sum(-1)
            return self.gru(self.mel(power.transpose(1, 2)).abs().clamp(min=1e-5).log())[0]

    return Spectrogram()


def _seq2seq():
    import torch
    from torch import nn

    class Translator(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(50, 16)
            self.body = nn.Transformer(16, 2, 1, 1, 32, batch_first=True, norm_first=True)
            self.head = nn.Linear(16, 50)

        def forward(self, x, y):
            mask = torch.full((y.shape[1], y.shape[1]), float("-inf")).triu(1)
            return self.head(self.body(self.embed(x), self.embed(y), tgt_mask=mask))

    return Translator()


def _factors():
    """Embeddings of categories, their products, a deep part: click-through."""
    import torch
    from torch import nn

    class Clicks(nn.Module):
        def __init__(self):
            super().__init__()
            self.tables = nn.ModuleList([nn.Embedding(size, 8) for size in (30, 40, 50)])
            self.dense = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU())
            self.top = nn.Sequential(nn.Linear(14, 16), nn.ReLU(), nn.Linear(16, 1), nn.Sigmoid())

        def forward(self, numbers, categories):
            dense = self.dense(numbers)
            parts = torch.stack([dense, *[table(categories[:, i]) for i, table in enumerate(self.tables)]], 1)
            product = parts @ parts.transpose(1, 2)
            row, column = torch.tril_indices(4, 4, -1)
            return self.top(torch.cat([dense, product[:, row, column]], 1))

    return Clicks()


def _bags():
    import torch
    from torch import nn

    class Bags(nn.Module):
        def __init__(self):
            super().__init__()
            self.bag, self.user, self.head = nn.EmbeddingBag(40, 8, mode="mean"), nn.Embedding(20, 8), nn.Linear(16, 1)

        def forward(self, user, items):
            return self.head(torch.cat([self.user(user), self.bag(items)], -1))

    return Bags()


def _next_item():
    """A session's items through a GRU, scores of all items, the best ones."""
    from torch import nn

    class Next(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.gru = nn.Embedding(60, 16), nn.GRU(16, 16, batch_first=True)

        def forward(self, x):
            last = self.gru(self.embed(x))[1][-1]
            score, item = (last @ self.embed.weight.T).topk(5)
            return score.softmax(-1), item

    return Next()


def _basis_expansion():
    import torch
    from torch import nn

    class Forecast(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 12)) for _ in range(2)])
            time = torch.arange(32.0) / 32
            self.register_buffer("basis", torch.stack([(2 * torch.pi * i * time).cos() for i in range(12)]))

        def forward(self, x):
            mean, deviation = x.mean(1, keepdim=True), x.std(1, keepdim=True) + 1e-5
            rest, total = (x - mean) / deviation, 0
            for block in self.blocks:
                y = block(rest) @ self.basis
                rest, total = rest - y[:, :24], total + y[:, 24:]
            return total * deviation + mean

    return Forecast()


def _decomposition():
    """A moving average taken off, two linear maps, their sum."""
    from torch import nn

    class Forecast(nn.Module):
        def __init__(self):
            super().__init__()
            self.average = nn.AvgPool1d(5, 1)
            self.trend, self.season = nn.Linear(32, 8), nn.Linear(32, 8)

        def forward(self, x):
            x = x.transpose(1, 2)
            trend = self.average(nn.functional.pad(x, (2, 2), mode="replicate"))
            return (self.trend(trend) + self.season(x - trend)).transpose(1, 2)

    return Forecast()


def _graph_network():
    import torch
    from torch import nn

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(6, 16), nn.Linear(16, 3)

        def forward(self, x, edges):
            def spread(y):
                total = torch.zeros_like(y).index_add(0, edges[1], y[edges[0]])
                degree = torch.zeros_like(y[:, 0]).index_add(0, edges[1], torch.ones_like(edges[1], dtype=y.dtype))
                return total / degree.clamp(min=1).unsqueeze(1)

            return spread(self.second(spread(self.first(x)).relu())).log_softmax(-1)

    return Layer()


def _tabular_attention():
    import torch
    from torch import nn

    class Table(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.bias = nn.Parameter(torch.randn(6, 16)), nn.Parameter(torch.randn(6, 16))
            self.body = nn.TransformerEncoderLayer(16, 4, 32, activation="gelu", batch_first=True)
            self.head = nn.Linear(16, 2)

        def forward(self, x):
            return self.head(self.body(x.unsqueeze(-1) * self.weight + self.bias).mean(1))

    return Table()


def _mixture():
    import torch
    from torch import nn

    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(16, 4)
            self.up, self.down = nn.Parameter(torch.randn(4, 16, 24)), nn.Parameter(torch.randn(4, 24, 16))

        def forward(self, x):
            weight, index = self.gate(x).softmax(-1).topk(2, -1)
            y = torch.einsum("btd,btkdf->btkf", x, self.up[index])
            y = torch.einsum("btkf,btkfd->btkd", nn.functional.silu(y), self.down[index])
            return (y * weight.unsqueeze(-1)).sum(2)

    return Experts()


TOKENS = {"x": whole(2, 12, high=100)}
STATE = {"x": reals(1, 256), "h": reals(1, 16), "c": reals(1, 16)}
EDGES = {"x": reals(7, 6), "edges": given([[0, 1, 2, 3, 4, 5, 6, 0], [1, 2, 3, 4, 5, 6, 0, 3]], "int64")}
RECIPES = [
    torch_recipe("voice_detector_script", "speech", _voice_detector, STATE, dynamo=False, opset=16),
    torch_recipe("voice_detector_dynamo", "speech", _voice_detector, STATE),
    torch_recipe("spectrogram_dynamo", "speech", _spectrogram, {"x": reals(1, 256)}),
    torch_recipe("keywords_script", "speech", _keywords, {"x": reals(1, 1, 32, 10)}, dynamo=False),
    torch_recipe("lstm_tagger_script", "language", lambda: _recurrent("LSTM", 2, True), TOKENS, dynamo=False, free={"x": {1: "n"}}),
    torch_recipe("lstm_tagger_dynamo", "language", lambda: _recurrent("LSTM", 2, True), TOKENS),
    torch_recipe("gru_tagger_script", "language", lambda: _recurrent("GRU", 2), TOKENS, dynamo=False, free={"x": {0: "b", 1: "n"}}),
    torch_recipe("gru_tagger_dynamo", "language", lambda: _recurrent("GRU"), TOKENS),
    torch_recipe("rnn_tagger_script", "language", lambda: _recurrent("RNN"), TOKENS, dynamo=False),
    torch_recipe("seq2seq_script", "language", _seq2seq, {"x": whole(1, 7, high=50), "y": whole(1, 5, high=50)}, dynamo=False),
    torch_recipe("seq2seq_dynamo", "language", _seq2seq, {"x": whole(1, 7, high=50), "y": whole(1, 5, high=50)}),
    torch_recipe("mixture_dynamo", "language", _mixture, {"x": reals(1, 5, 16)}),
    torch_recipe("dilated_in_time_script", "time series", _dilated_in_time, {"x": reals(1, 3, 24)}, dynamo=False,
                 free={"x": {2: "time"}}),
    torch_recipe("basis_expansion_dynamo", "time series", _basis_expansion, {"x": reals(3, 24)}, free={"x": {0: "n"}}),
    torch_recipe("decomposition_script", "time series", _decomposition, {"x": reals(2, 32, 4)}, dynamo=False),
    torch_recipe("clicks_script", "recommender", _factors, {"numbers": reals(4, 5), "categories": whole(4, 3, high=30)},
                 dynamo=False, free={"numbers": {0: "n"}, "categories": {0: "n"}}),
    torch_recipe("clicks_dynamo", "recommender", _factors, {"numbers": reals(4, 5), "categories": whole(4, 3, high=30)}),
    torch_recipe("bags_script", "recommender", _bags, {"user": whole(4, high=20), "items": whole(4, 6, high=40)}, dynamo=False),
    torch_recipe("next_item_dynamo", "recommender", _next_item, {"x": whole(2, 6, high=60)}),
    torch_recipe("graph_network_dynamo", "tabular", _graph_network, EDGES),
    torch_recipe("tabular_attention_dynamo", "tabular", _tabular_attention, {"x": reals(4, 6)}),
]
