#!/usr/bin/env python3
"""A Mixture-of-Experts layer for PyTorch that runs on libmoeblaze.so, beside the same layer in plain PyTorch.

    python3 kernels/examples/torch_moe.py --check          output and gradients of both against fp64
    python3 kernels/examples/torch_moe.py --train          a small language model with either: losses, speed, memory

Copy from here: `Library` speaks the C interface (kernels/api/moeblaze.h), `_Moe` is the autograd function, `MoeLayer` the
module. Needs PyTorch 2 with CUDA, and nothing else.
"""

import argparse
import ctypes
import json
import os
import pathlib
import sys
import time
import weakref

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    if __name__ != "__main__":
        raise
    print("torch_moe.py: PyTorch is missing; install it, for example with 'pip install torch'", file=sys.stderr)
    sys.exit(3)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SYSTEMS = ("moeblaze", "moeblaze-paper", "moeblaze-min")
ACTIVATIONS = {"relu": F.relu, "silu": F.silu, "gelu": F.gelu, "swiglu": F.silu, "geglu": F.gelu}  # numbered in order
GATED = ("swiglu", "geglu")
DTYPES = {torch.bfloat16: 0, torch.float16: 1, torch.float32: 2}


class Config(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("d_model", "d_ff", "experts", "top_k", "tokens")]
    _fields_ += [(name, ctypes.c_int32) for name in ("activation", "dtype", "gate_dtype")]
    _fields_ += [("system", ctypes.c_char_p)]


class Sizes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("saved", "forward_workspace", "backward_workspace")]


class Inputs(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("x", "topk_ids", "gates", "w1", "w2", "w3")]


class Gradients(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("output_gradient", "dx", "dgates", "dw1", "dw2", "dw3")]


class Library:
    """libmoeblaze.so: from `path`, else $MOEBLAZE_LIBRARY, else this repository's release build."""

    def __init__(self, path=None):
        path = path or os.environ.get("MOEBLAZE_LIBRARY") or ROOT / "build/release/lib/libmoeblaze.so"
        try:
            self._c = ctypes.CDLL(str(path))
        except OSError as error:
            raise OSError(f"libmoeblaze.so does not load: {error}; build it with './moeblaze build' where a CUDA "
                          "toolkit is installed, or name it with --library or MOEBLAZE_LIBRARY") from None
        pointer, (config, inputs, gradients) = ctypes.c_void_p, map(ctypes.POINTER, (Config, Inputs, Gradients))
        self._c.moeblaze_query.argtypes = [config, ctypes.POINTER(Sizes)]
        self._c.moeblaze_create.argtypes = [config, ctypes.POINTER(pointer)]
        self._c.moeblaze_forward.argtypes = [pointer, inputs] + 4 * [pointer]
        self._c.moeblaze_backward.argtypes = [pointer, inputs, gradients] + 3 * [pointer]
        self._c.moeblaze_last_error.restype = ctypes.c_char_p
        self.destroy = self._c.moeblaze_destroy
        self.destroy.argtypes, self.destroy.restype = [pointer], None

    def call(self, name, *arguments):
        if getattr(self._c, "moeblaze_" + name)(*arguments) != 0:
            raise RuntimeError(f"moeblaze_{name}: {self._c.moeblaze_last_error().decode(errors='replace')}")


def pointers_of(tensors):
    return [None if tensor is None else tensor.data_ptr() for tensor in tensors]


class Handle:
    """A moeblaze_layer on one device, for one number of tokens."""

    def __init__(self, library, device, config):
        self.library, self.device, self.sizes = library, device, Sizes()
        library.call("query", config, self.sizes)
        self._layer = ctypes.c_void_p()
        with torch.cuda.device(device):
            library.call("create", config, self._layer)
        weakref.finalize(self, library.destroy, self._layer)

    def block(self, size):
        """From PyTorch's allocator, whose memory belongs to the current stream: a block dropped right after the call
        that uses it is given only to work that comes after that call."""
        return torch.empty(size, dtype=torch.uint8, device=self.device)

    def forward(self, inputs, output, saved):
        self._run("forward", inputs, output.data_ptr(), saved, self.sizes.forward_workspace)

    def backward(self, inputs, gradients, saved):
        self._run("backward", inputs, Gradients(*pointers_of(gradients)), saved, self.sizes.backward_workspace)

    def _run(self, name, inputs, results, saved, workspace_bytes):
        workspace = self.block(workspace_bytes)
        with torch.cuda.device(self.device):
            self.library.call(name, self._layer, Inputs(*pointers_of(inputs)), results, saved.data_ptr(),
                              workspace.data_ptr(), torch.cuda.current_stream().cuda_stream)


class _Moe(torch.autograd.Function):
    """Sum over a token's experts of gate · expert(x); x, gates and weights have gradients."""

    @staticmethod
    def forward(ctx, handle, x, ids, gates, w1, w2, w3):
        inputs = [None if tensor is None else tensor.contiguous() for tensor in (x, ids, gates, w1, w2, w3)]
        output, saved = torch.empty_like(inputs[0]), handle.block(handle.sizes.saved)
        handle.forward(inputs, output, saved)
        ctx.save_for_backward(*inputs)
        ctx.handle, ctx.saved = handle, saved
        return output

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, output_gradient):
        inputs = x, _, gates, w1, w2, w3 = ctx.saved_tensors
        if ctx.saved is None:
            raise RuntimeError("this MoE layer's backward has run already, and overwrote what forward saved: run "
                               "forward again, or add up the losses and call backward once")
        dx, dgates, dw1, dw2, dw3 = [None if t is None else torch.empty_like(t) for t in (x, gates, w1, w2, w3)]
        ctx.handle.backward(inputs, (output_gradient.contiguous(), dx, dgates, dw1, dw2, dw3), ctx.saved)
        ctx.saved = None
        return None, dx, None, dgates, dw1, dw2, dw3


class PlainMoeLayer(torch.nn.Module):
    """Router and experts in plain PyTorch, an expert at a time. Parameters are fp32 and cast to `dtype`, in which the
    experts compute; the router computes in fp32 at least."""

    def __init__(self, d_model, d_ff, experts, top_k, activation="swiglu", dtype=torch.bfloat16):
        super().__init__()
        self.top_k, self.activation, self.dtype = top_k, activation, dtype
        self.router, up = torch.nn.Linear(d_model, experts, bias=False), (experts, d_model, d_ff)
        self.w1 = torch.nn.Parameter(torch.randn(up) / d_model**0.5)
        self.w2 = torch.nn.Parameter(torch.randn(up) / d_model**0.5) if activation in GATED else None
        self.w3 = torch.nn.Parameter(torch.randn(experts, d_ff, d_model) / d_ff**0.5)

    def route(self, x, ids=None):
        """Expert ids [L, k], the best k unless given, and their softmax over all experts."""
        wide = torch.promote_types(x.dtype, torch.float32)
        scores = F.linear(x.to(wide), self.router.weight.to(wide)).softmax(-1)
        if ids is None:
            ids = scores.topk(self.top_k, dim=-1).indices
        return ids, scores.gather(-1, ids)

    def weights(self):
        return [None if weight is None else weight.to(self.dtype) for weight in (self.w1, self.w2, self.w3)]

    def mix(self, x, ids, gates):
        act, (w1, w2, w3) = ACTIVATIONS[self.activation], self.weights()
        output = torch.zeros_like(x)
        for expert in range(w1.shape[0]):
            token, choice = torch.where(ids == expert)
            rows = x[token]
            hidden = act(rows @ w1[expert]) * (1 if w2 is None else rows @ w2[expert])
            scaled = (hidden @ w3[expert]) * gates[token, choice, None]
            output = output.index_add(0, token, scaled.to(x.dtype))
        return output

    def forward(self, x):
        with torch.autocast(x.device.type, enabled=False):  # dtypes are chosen here
            rows = x.reshape(-1, x.shape[-1]).to(self.dtype)
            return self.mix(rows, *self.route(rows)).reshape(x.shape)


class MoeLayer(PlainMoeLayer):
    """The same layer, its experts on libmoeblaze.so."""

    def __init__(self, *sizes, library, system="moeblaze", **options):
        super().__init__(*sizes, **options)
        self.library, self.system, self.handles = library, system, {}

    def handle(self, x):
        key = (x.device, x.shape[0])
        if key not in self.handles:
            experts, d_model, d_ff = self.w1.shape
            config = Config(d_model, d_ff, experts, self.top_k, x.shape[0], list(ACTIVATIONS).index(self.activation),
                            DTYPES[self.dtype], DTYPES[torch.float32], self.system.encode())
            self.handles[key] = Handle(self.library, x.device, config)
        return self.handles[key]

    def mix(self, x, ids, gates):
        return _Moe.apply(self.handle(x), x, ids.to(torch.int32), gates, *self.weights())


# --check: errors of both layers

CHECKED = [(1000, 512, 1024, 8, 2), (4096, 1024, 512, 32, 4), (777, 136, 264, 6, 3)]
MOST_ERROR = 1e-2  # about twice what rounding to bf16 costs plain PyTorch


def step(layer, x, ids, upstream):
    """Output and every gradient of one forward and backward, by name."""
    x = x.to(layer.dtype, copy=True).requires_grad_()
    _, gates = layer.route(x, ids)
    gates.retain_grad()
    output = layer.mix(x, ids, gates)
    output.backward(upstream.to(layer.dtype))
    found = {"output": output, "x": x.grad, "gates": gates.grad}
    return found | {name.removesuffix(".weight"): p.grad for name, p in layer.named_parameters()}


def check(library, system):
    """Errors of both layers against the plain one in fp64, all on the same bf16 numbers."""
    rows = []
    print(f"relative error of norms against fp64, bf16; {system} and plain PyTorch")
    for tokens, *sizes in CHECKED:
        for activation in ACTIVATIONS:
            torch.manual_seed(0)
            mine = MoeLayer(*sizes, activation=activation, library=library, system=system).bfloat16().float()
            plain = PlainMoeLayer(*sizes, activation=activation)
            exact = PlainMoeLayer(*sizes, activation=activation, dtype=torch.float64).double()
            for layer in (plain, exact):
                layer.load_state_dict(mine.state_dict())
            x, upstream = (torch.randn(tokens, sizes[0]).bfloat16().cuda() for _ in range(2))
            ids, _ = mine.cuda().route(x)
            reference = step(exact.cuda(), x, ids, upstream)
            for name, layer in ((system, mine), ("plain", plain.cuda())):
                found = step(layer, x, ids, upstream)
                errors = {key: ((found[key].double() - value).norm() / value.norm()).item()
                          for key, value in reference.items()}
                shape = "x".join(map(str, (tokens, *sizes)))  # tokens, d_model, d_ff, experts, top_k
                rows.append({"layer": name, "shape": shape, "activation": activation, "errors": errors})
                print(f"{shape:24} {activation:7} {name:15}", *(f"{k} {v:.1e}" for k, v in errors.items()), flush=True)
    mine = [error for row in rows if row["layer"] == system for error in row["errors"].values()]
    worst, passed = max(mine), all(error <= MOST_ERROR for error in mine)  # not a number does not pass
    print(f"largest error of {system}: {worst:.1e}, allowed {MOST_ERROR:.0e}: {'passed' if passed else 'FAILED'}")
    return {"rows": rows, "largest_error": worst, "passed": passed}


# --train: a small language model with either layer

WIDTH, HIDDEN, EXPERTS, TOP_K, HEADS, BLOCKS, CONTEXT, BATCH = 256, 512, 8, 2, 4, 4, 256, 32
WARM_UP, EVERY = 10, 20  # steps before the clock runs, and between printed losses


class Block(torch.nn.Module):
    def __init__(self, moe):
        super().__init__()
        self.norm1, self.norm2 = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
        self.qkv, self.out, self.moe = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH), moe

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.moe(self.norm2(x))


class ByteModel(torch.nn.Module):
    """A transformer over bytes."""

    def __init__(self, make_moe):
        super().__init__()
        self.bytes, self.places = torch.nn.Embedding(256, WIDTH), torch.nn.Embedding(CONTEXT, WIDTH)
        self.blocks = torch.nn.Sequential(*(Block(make_moe()) for _ in range(BLOCKS)))
        self.norm, self.head = torch.nn.LayerNorm(WIDTH), torch.nn.Linear(WIDTH, 256)

    def forward(self, text):
        return self.head(self.norm(self.blocks(self.bytes(text) + self.places.weight[: text.shape[1]])))


def corpus():
    """The repository's own text, or this file's where it was copied elsewhere."""
    files = sorted((ROOT / "core").rglob("*.[ch]*")) + sorted((ROOT / "kernels").rglob("*.[ch]*"))
    text = b"".join(file.read_bytes() for file in files or [pathlib.Path(__file__)])
    return torch.frombuffer(bytearray(text), dtype=torch.uint8).long().cuda()


def train(make_moe, steps):
    """Losses of every step, tokens a second, and the most memory PyTorch had allocated."""
    torch.manual_seed(0)
    torch.cuda.reset_peak_memory_stats()
    model = ByteModel(make_moe).cuda()
    text, draw = corpus(), torch.Generator().manual_seed(0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses, first = [], min(WARM_UP, steps - 1)
    for i in range(steps):
        if i == first:
            torch.cuda.synchronize()
            started = time.perf_counter()
        at = torch.randint(len(text) - CONTEXT, (BATCH, 1), generator=draw).cuda() + torch.arange(CONTEXT + 1).cuda()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(text[at[:, :-1]])
        loss = F.cross_entropy(logits.float().flatten(0, 1), text[at[:, 1:]].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    torch.cuda.synchronize()
    speed = (steps - first) * BATCH * CONTEXT / (time.perf_counter() - started)
    return {"losses": torch.stack(losses).tolist(), "tokens_per_s": speed,
            "peak_bytes": torch.cuda.max_memory_allocated()}


def compare_training(library, system, steps):
    sizes = (WIDTH, HIDDEN, EXPERTS, TOP_K)
    runs = {system: train(lambda: MoeLayer(*sizes, library=library, system=system), steps),
            "plain": train(lambda: PlainMoeLayer(*sizes), steps)}
    curves = [run["losses"] for run in runs.values()]
    print(f"{'step':>6}", *(f"{name:>15}" for name in runs))
    for i in sorted({*range(0, steps, EVERY), steps - 1}):
        print(f"{i:6}", *(f"{losses[i]:15.4f}" for losses in curves))
    apart = max(abs(a - b) for a, b in zip(*curves))
    print(f"largest difference of the losses of a step: {apart:.4f}")
    for name, run in runs.items():
        print(f"{name}: {run['tokens_per_s']:,.0f} tokens/s, at most {run['peak_bytes'] / 2**20:,.1f} MiB allocated")
    return {"steps": steps, "largest_difference": apart, "layers": runs}


def main():
    parser = argparse.ArgumentParser(description="MoE layers on libmoeblaze.so beside plain PyTorch's")
    parser.add_argument("--check", action="store_true", help="output and gradients of both against fp64")
    parser.add_argument("--train", action="store_true", help="a small language model with either")
    parser.add_argument("--steps", type=int, default=200, help="training steps, from 1 (default 200)")
    parser.add_argument("--system", choices=SYSTEMS, default=SYSTEMS[0], help="what forward saves (default moeblaze)")
    parser.add_argument("--library", help="libmoeblaze.so (default: $MOEBLAZE_LIBRARY, else the release build)")
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    options = parser.parse_args()
    if not (options.check or options.train) or options.steps < 1:
        parser.error("give --check, --train or both, and at least one step")
    try:
        if not torch.cuda.is_available():
            raise OSError("no NVIDIA GPU that PyTorch can use; run where there is one, with a CUDA build of PyTorch")
        library = Library(options.library)
    except OSError as error:
        print(f"torch_moe.py: {error}", file=sys.stderr)
        return 3
    figures = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "system": options.system}
    if options.check:
        figures["check"] = check(library, options.system)
    if options.train:
        figures["train"] = compare_training(library, options.system, options.steps)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(figures, indent=1) + "\n")
    return 0 if figures.get("check", {}).get("passed", True) else 1


if __name__ == "__main__":
    sys.exit(main())
