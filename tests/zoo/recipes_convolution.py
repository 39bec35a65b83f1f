"""Networks of convolutions: classification, detection, segmentation, images made and enlarged."""
from recipe import reals, torch_recipe


def _two_stages(net, channels):
    from torch import nn

    net.layer3, net.layer4, net.fc = nn.Identity(), nn.Identity(), nn.Linear(channels, 10)
    return net


def _resnet():
    from torchvision.models.resnet import BasicBlock, ResNet

    return _two_stages(ResNet(BasicBlock, [1, 1, 1, 1]), 128)


def _bottleneck_groups():
    from torchvision.models.resnet import Bottleneck, ResNet

    return _two_stages(ResNet(Bottleneck, [1, 1, 1, 1], groups=8, width_per_group=8), 512)


def _dilated_head():
    """DeepLab: a backbone, dilated convolutions of several rates, resizing."""
    from torch import nn
    from torchvision.models.segmentation.deeplabv3 import DeepLabHead

    class Segmenter(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
                                      nn.Conv2d(16, 24, 3, 1, 2, dilation=2), nn.ReLU())
            self.head = DeepLabHead(24, 5, (2, 4, 6))

        def forward(self, x):
            y = self.head(self.stem(x))
            return nn.functional.interpolate(y, size=x.shape[-2:], mode="bilinear", align_corners=False)

    return Segmenter()


def _lraspp():
    from torchvision.models.segmentation.lraspp import LRASPPHead
    from torch import nn

    class Segmenter(nn.Module):
        def __init__(self):
            super().__init__()
            self.low = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.Hardswish())
            self.high = nn.Sequential(nn.Conv2d(8, 32, 3, 2, 1, groups=8), nn.Hardswish())
            self.head = LRASPPHead(8, 32, 4, 16)

        def forward(self, x):
            low = self.low(x)
            y = self.head({"low": low, "high": self.high(low)})
            return nn.functional.interpolate(y, scale_factor=2.0, mode="bilinear")

    return Segmenter()


def _settled(net):
    """A network whose normalizations know their inputs; else each layer makes its outputs smaller, down to nothing."""
    import torch
    from torch import nn

    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = None  # the mean of all
    net.train()
    with torch.no_grad():
        for _ in range(4):
            net(torch.randn(8, 3, 32, 32))
    return net


def _mobilenet_v3():
    from torchvision.models.mobilenetv3 import InvertedResidualConfig as Block, MobileNetV3

    return _settled(MobileNetV3([Block(16, 3, 16, 16, True, "RE", 2, 1, 1.0), Block(16, 5, 48, 24, True, "HS", 2, 1, 1.0),
                                 Block(24, 3, 64, 24, False, "HS", 1, 1, 1.0)], 64, num_classes=10))


def _efficientnet():
    from torchvision.models.efficientnet import EfficientNet, MBConvConfig

    return _settled(EfficientNet([MBConvConfig(1, 3, 1, 16, 16, 1), MBConvConfig(4, 3, 2, 16, 24, 1),
                                  MBConvConfig(4, 5, 2, 24, 32, 1)], 0.2, num_classes=10, last_channel=64))


def _convnext():
    from torchvision.models.convnext import CNBlockConfig, ConvNeXt

    return ConvNeXt([CNBlockConfig(16, 32, 1), CNBlockConfig(32, None, 1)], num_classes=10)


def _densenet():
    from torchvision.models.densenet import DenseNet

    return DenseNet(8, (2, 2), 16, num_classes=10)


def _shufflenet():
    from torchvision.models.shufflenetv2 import ShuffleNetV2

    return ShuffleNetV2([1, 1, 1], [8, 16, 24, 32, 64], num_classes=10)


def _regnet():
    from torchvision.models.regnet import BlockParams, RegNet

    return RegNet(BlockParams.from_init_params(depth=4, w_0=16, w_a=8.0, w_m=2.0, group_width=8, se_ratio=0.25),
                  num_classes=10, stem_width=8)


def _inception():
    from torch import nn
    from torchvision.models.googlenet import Inception

    return nn.Sequential(nn.Conv2d(3, 16, 7, 2, 3), nn.ReLU(), nn.MaxPool2d(3, 2, ceil_mode=True),
                         nn.LocalResponseNorm(5), Inception(16, 8, 8, 16, 4, 8, 8), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(40, 10))


def _normalizer_free(stages):
    """Weights that the graph itself standardises."""
    from timm.models.nfnet import NfCfg, NormFreeNet

    return NormFreeNet(NfCfg(depths=(1,) * stages, channels=(16, 32)[:stages], stem_type="3x3", attn_layer="se", attn_kwargs={"rd_ratio": 0.5},
                             num_features=48), num_classes=10)


def _unet():
    """GroupNorm, InstanceNorm, Mish, bilinear resizing, skips."""
    import torch
    from torch import nn

    def block(inputs, outputs, norm):
        return nn.Sequential(nn.Conv2d(inputs, outputs, 3, 1, 1), norm, nn.Mish())

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = block(3, 16, nn.GroupNorm(4, 16))
            self.deep = block(16, 32, nn.InstanceNorm2d(32, affine=True))
            self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
            self.out = nn.Sequential(block(48, 16, nn.GroupNorm(8, 16)), nn.Conv2d(16, 2, 1))

        def forward(self, x):
            high = self.down(x)
            low = self.up(self.deep(nn.functional.avg_pool2d(high, 2)))
            return self.out(torch.cat([high, low], 1))

    return UNet()


def _super_resolution():
    from torch import nn

    return nn.Sequential(nn.Conv2d(1, 16, 5, 1, 2), nn.PReLU(16), nn.Conv2d(16, 8, 3, 1, 1), nn.PReLU(),
                         nn.Conv2d(8, 4, 3, 1, 1), nn.PixelShuffle(2), nn.ReflectionPad2d(1), nn.Conv2d(1, 1, 3))


def _generator():
    from torch import nn

    return nn.Sequential(nn.ConvTranspose2d(16, 24, 4), nn.BatchNorm2d(24), nn.ReLU(),
                         nn.ConvTranspose2d(24, 8, 4, 2, 1), nn.InstanceNorm2d(8), nn.LeakyReLU(0.2),
                         nn.ConvTranspose2d(8, 3, 3, 2, 1, output_padding=1, groups=1), nn.Tanh())


def _spatial_transformer():
    from torch import nn

    class Transformer(nn.Module):
        def __init__(self):
            super().__init__()
            self.locate = nn.Sequential(nn.Conv2d(1, 4, 7), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 11 * 11, 6))
            self.classify = nn.Sequential(nn.Conv2d(1, 4, 5, 2), nn.SELU(), nn.Flatten(), nn.Linear(4 * 12 * 12, 10),
                                          nn.LogSoftmax(-1))

        def forward(self, x):
            theta = self.locate(x).view(-1, 2, 3)
            grid = nn.functional.affine_grid(theta, x.shape, align_corners=False)
            return self.classify(nn.functional.grid_sample(x, grid, align_corners=False))

    return Transformer()


def _detector(with_nms):
    """One stage: anchors, box decoding, the best ones, non-maximum suppression."""
    import torch
    from torch import nn
    from torchvision import ops

    class Detector(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.SiLU(), nn.Conv2d(16, 16, 3, 2, 1), nn.SiLU())
            self.score, self.box = nn.Conv2d(16, 3, 1), nn.Conv2d(16, 4, 1)
            rows, columns = torch.meshgrid(torch.arange(8.0), torch.arange(8.0), indexing="ij")
            self.register_buffer("centers", torch.stack([columns, rows], -1).reshape(-1, 2) * 4 + 2)

        def forward(self, x):
            y = self.body(x)
            scores = self.score(y).flatten(2).transpose(1, 2)[0].sigmoid()
            box = self.box(y).flatten(2).transpose(1, 2)[0]
            center, size = self.centers + box[:, :2], (box[:, 2:] * 0.5).exp() * 6
            corners = torch.cat([center - size / 2, center + size / 2], -1).clamp(0, 32)
            best, label = scores.max(-1)
            top, index = best.topk(20)
            corners, label = corners[index], label[index]
            if not with_nms:
                return corners, top, label
            kept = ops.nms(corners, top, 0.3)
            return corners[kept], top[kept], label[kept]

    return Detector()


def _center_net():
    import torch
    from torch import nn

    class Centers(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU6(), nn.Conv2d(16, 8, 3, 1, 1), nn.ELU())
            self.heat, self.size = nn.Conv2d(8, 2, 1), nn.Conv2d(8, 2, 1)

        def forward(self, x):
            y = self.body(x)
            heat, size = self.heat(y).sigmoid(), self.size(y)
            peaks = heat * (nn.functional.max_pool2d(heat, 3, 1, 1) == heat).float()
            score, index = peaks.flatten(1).topk(8)
            place = index % (heat.shape[2] * heat.shape[3])
            taken = size.flatten(2).gather(2, place.unsqueeze(1).expand(-1, 2, -1))
            return score, torch.stack([place % heat.shape[3], place // heat.shape[3]], -1), taken

    return Centers()


def _roi_heads():
    import torch
    from torch import nn
    from torchvision import ops

    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU())
            self.head = nn.Sequential(nn.Flatten(), nn.Linear(8 * 9, 6))

        def forward(self, x, boxes):
            first = torch.zeros_like(boxes[:, :1])
            return self.head(ops.roi_align(self.body(x), torch.cat([first, boxes], 1), 3, 0.5, 2, aligned=True)).softmax(-1)

    return Heads()


def _byte_classifier():
    """Embeddings of bytes, convolutions over them, as file-type classifiers have."""
    from torch import nn

    class Bytes(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(257, 16)
            self.body = nn.Sequential(nn.Conv1d(16, 32, 5), nn.GELU(), nn.Conv1d(32, 32, 5, 2), nn.GELU())
            self.norm, self.head = nn.LayerNorm(32), nn.Linear(32, 7)

        def forward(self, x):
            y = self.body(self.embed(x).transpose(1, 2)).amax(-1)
            return self.head(self.norm(y)).softmax(-1)

    return Bytes()


def _volume():
    from torch import nn

    return nn.Sequential(nn.Conv3d(1, 4, 3, 1, 1), nn.BatchNorm3d(4), nn.ReLU(), nn.MaxPool3d(2), nn.Conv3d(4, 8, 3),
                         nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(8, 3))


def _points():
    """Nearest neighbours of points, edge features, a maximum over the neighbours."""
    import torch
    from torch import nn

    class Points(nn.Module):
        def __init__(self):
            super().__init__()
            self.edge, self.head = nn.Conv2d(6, 16, 1), nn.Linear(32, 5)

        def forward(self, x):
            square = (x * x).sum(1, keepdim=True)
            near = (2 * x.transpose(1, 2) @ x - square - square.transpose(1, 2)).topk(4, -1).indices
            taken = x[0][:, near[0]].unsqueeze(0)
            middle = x.unsqueeze(-1).expand_as(taken)
            y = nn.functional.leaky_relu(self.edge(torch.cat([taken - middle, middle], 1)), 0.2).amax(-1)
            return self.head(torch.cat([y.amax(-1), y.mean(-1)], 1))

    return Points()


def _byobnet():
    from timm.models.byobnet import ByoBlockCfg, ByoModelCfg, ByobNet

    return ByobNet(ByoModelCfg(blocks=(ByoBlockCfg(type="basic", d=1, c=16, s=2, gs=0, br=1.0),
                                       ByoBlockCfg(type="bottle", d=1, c=32, s=2, gs=8, br=0.5)),
                               stem_chs=16, stem_pool="", attn_layer="eca"), num_classes=10)


IMAGE = {"x": reals(1, 3, 32, 32)}
GRAY = {"x": reals(1, 1, 28, 28)}
FREE = {"x": {0: "batch"}}
BATCH = {"x": reals(2, 3, 32, 32)}
RECIPES = [
    torch_recipe("resnet_script", "classification", _resnet, BATCH, dynamo=False, free=FREE),
    torch_recipe("resnet_dynamo", "classification", _resnet, BATCH, free=FREE),
    torch_recipe("resnext_script", "classification", _bottleneck_groups, IMAGE, dynamo=False, opset=17),
    torch_recipe("mobilenet_v3_script", "classification", _mobilenet_v3, BATCH, dynamo=False, opset=13),
    torch_recipe("mobilenet_v3_dynamo", "classification", _mobilenet_v3, BATCH),
    torch_recipe("efficientnet_dynamo", "classification", _efficientnet, IMAGE),
    torch_recipe("convnext_script", "classification", _convnext, IMAGE, dynamo=False),
    torch_recipe("convnext_dynamo", "classification", _convnext, IMAGE),
    torch_recipe("densenet_dynamo", "classification", _densenet, IMAGE),
    torch_recipe("shufflenet_script", "classification", _shufflenet, IMAGE, dynamo=False, opset=11),
    torch_recipe("regnet_dynamo", "classification", _regnet, IMAGE),
    torch_recipe("inception_script", "classification", _inception, IMAGE, dynamo=False, opset=9),
    torch_recipe("normalizer_free_dynamo", "classification", lambda: _normalizer_free(2), IMAGE),
    torch_recipe("normalizer_free_script", "classification", lambda: _normalizer_free(1), IMAGE, dynamo=False),
    torch_recipe("byobnet_dynamo", "classification", _byobnet, IMAGE),
    torch_recipe("volume_script", "classification", _volume, {"x": reals(1, 1, 8, 10, 12)}, dynamo=False),
    torch_recipe("points_dynamo", "classification", _points, {"x": reals(1, 3, 24)}),
    torch_recipe("spatial_transformer_dynamo", "classification", _spatial_transformer, GRAY),
    torch_recipe("byte_classifier_script", "classification", _byte_classifier,
                 {"x": {"shape": [2, 64], "dtype": "int64", "low": 0, "high": 257}}, dynamo=False, free={"x": {0: "n", 1: "m"}}),
    torch_recipe("deeplab_script", "segmentation", _dilated_head, IMAGE, dynamo=False),
    torch_recipe("deeplab_dynamo", "segmentation", _dilated_head, IMAGE),
    torch_recipe("lraspp_script", "segmentation", _lraspp, IMAGE, dynamo=False, opset=12),
    torch_recipe("unet_script", "segmentation", _unet, IMAGE, dynamo=False),
    torch_recipe("unet_dynamo", "segmentation", _unet, IMAGE, free={"x": {0: "n", 2: "h", 3: "w"}}),
    torch_recipe("super_resolution_script", "images", _super_resolution, {"x": reals(1, 1, 12, 16)}, dynamo=False,
                 free={"x": {2: "h", 3: "w"}}),
    torch_recipe("generator_dynamo", "images", _generator, {"x": reals(1, 16, 1, 1)}),
    torch_recipe("detector_script", "detection", lambda: _detector(True), IMAGE, dynamo=False),
    torch_recipe("detector_dynamo", "detection", lambda: _detector(False), IMAGE),
    torch_recipe("center_net_script", "detection", _center_net, IMAGE, dynamo=False),
    torch_recipe("center_net_dynamo", "detection", _center_net, IMAGE),
    torch_recipe("roi_heads_script", "detection", _roi_heads,
                 {"x": reals(1, 3, 24, 24), "boxes": {"values": [[1, 2, 12, 14], [0, 0, 20, 20], [5, 4, 9, 22]], "dtype": "float32"}},
                 dynamo=False, opset=16),
]
