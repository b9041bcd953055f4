"""Measures the layer that the `torch` system plans: saved bytes, step peak and times, as CSV on standard output.

    python3 kernels/tools/measure_torch_layer.py > tests/data/torch_h200_more_shapes.csv

The layer is argsort, index_select, torch._grouped_mm, activation, product with the gates and index_add, in bf16 and with
gradients for the gates. Bytes are the exact requests in a memory snapshot's events, not the allocator's rounded blocks.
`saved_bytes` is what the forward pass leaves allocated, without its output. `peak_bytes` is the most that is allocated
at once in forward and backward, above what existed before. Times are medians of 10 runs in milliseconds.
"""

import statistics
import sys

import torch
import torch.nn.functional as F

SHAPES = """
name                     d_model   d_ff  experts  top_k  tokens  activation
conf5                        512   2048       16      4   32768  swiglu
olmoe-1b-7b                 2048   1024       64      8   16384  swiglu
qwen3-30b-a3b               2048    768      128      8   16384  swiglu
deepseek-v2-lite-routed     2048   1408       64      6   16384  swiglu
mixtral-8x7b                4096  14336        8      2   16384  swiglu
gpt-oss-20b                 2880   2880       32      4   16384  swiglu
fine-grained                1536    256      256      8    8192  swiglu
few-tokens                  4096   1536      128      8    1024  swiglu
one-choice                  1024   1032       24      1   20000  swiglu
conf5-silu                   512   2048       16      4   32768  silu
qwen3-30b-a3b-gelu          2048    768      128      8   16384  gelu
odd-relu                    1000    520       10      3   12345  relu
"""
ACTIVATIONS = {"swiglu": F.silu, "silu": F.silu, "gelu": F.gelu, "relu": F.relu}


def layer(x, gates, ids, weights, experts, act, gated):
    order = ids.flatten().argsort()
    token = order // ids.shape[1]
    offsets = torch.bincount(ids.flatten(), minlength=experts).cumsum(0).to(torch.int32)
    rows = x.index_select(0, token)
    hidden = act(torch._grouped_mm(rows, weights[0], offs=offsets))
    if gated:
        hidden = hidden * torch._grouped_mm(rows, weights[1], offs=offsets)
    out = torch._grouped_mm(hidden, weights[-1], offs=offsets)
    out = out * gates.flatten()[order].to(x.dtype)[:, None]
    return torch.zeros_like(x).index_add(0, token, out)


def replay(events, live):
    """Applies a snapshot's events to `live` (address → bytes) and returns the most bytes alive on the way."""
    peak = sum(live.values())
    now = peak
    for event in events:
        if event["action"] == "alloc":
            live[event["addr"]] = event["size"]
            now += event["size"]
            peak = max(peak, now)
        elif event["action"] == "free_completed" and event["addr"] in live:
            now -= live.pop(event["addr"])
    return peak


def events():
    return [e for trace in torch.cuda.memory._snapshot()["device_traces"] for e in trace]


def measure(name, d, h, experts, k, tokens, activation):
    torch.manual_seed(0)
    gated = activation == "swiglu"
    options = {"device": "cuda", "dtype": torch.bfloat16}
    x = torch.randn(tokens, d, **options).requires_grad_()
    shapes = [(experts, d, h)] * (2 if gated else 1) + [(experts, h, d)]
    weights = [(torch.randn(s, **options) / s[1] ** 0.5).requires_grad_() for s in shapes]
    slots = torch.arange(tokens * k, device="cuda").view(tokens, k)
    ids = (slots % experts)[torch.randperm(tokens, device="cuda")].contiguous()  # balanced, tokens shuffled
    gates = torch.rand(tokens, k, device="cuda").softmax(-1).requires_grad_()
    upstream = torch.randn_like(x)
    leaves = [x, gates, *weights]

    def forward():
        return layer(x, gates, ids, weights, experts, ACTIVATIONS[activation], gated)

    def clear():
        for leaf in leaves:
            leaf.grad = None

    times = ([], [])
    for i in range(13):
        clear()
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(3)]
        torch.cuda.synchronize()
        marks[0].record()
        out = forward()
        marks[1].record()
        out.backward(upstream)
        marks[2].record()
        torch.cuda.synchronize()
        if i >= 3:
            times[0].append(marks[0].elapsed_time(marks[1]))
            times[1].append(marks[1].elapsed_time(marks[2]))
    del out
    clear()
    torch.cuda.synchronize()

    torch.cuda.memory._record_memory_history(max_entries=100000, stacks="python", context=None)
    live = {}
    out = forward()
    torch.cuda.synchronize()
    seen = events()
    replay(seen, live)
    saved = sum(live.values()) - out.numel() * out.element_size()
    out.backward(upstream)
    torch.cuda.synchronize()
    peak = replay(events(), {})
    torch.cuda.memory._record_memory_history(enabled=None)
    row = [name, d, h, experts, k, tokens, activation, saved, peak, *(f"{statistics.median(t):.3f}" for t in times)]
    print(",".join(map(str, row)), flush=True)


print("name,d_model,d_ff,experts,top_k,tokens,activation,saved_bytes,peak_bytes,forward_ms,backward_ms")
for line in SHAPES.strip().splitlines()[1:]:
    name, *sizes, activation = line.split()
    measure(name, *map(int, sizes), activation)
    torch.cuda.empty_cache()
print(torch.__version__, torch.cuda.get_device_name(), file=sys.stderr)
