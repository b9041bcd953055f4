"""Measures how long PyTorch takes to build a layer's index structures with argsort, bincount, cumsum and an inverse.

    python3 kernels/tools/measure_torch_dispatch.py [LxKxE ...]

A shape is tokens x top_k x experts. The script prints CSV: each shape, and the median of 50 measurements in microseconds
per build. One measurement times 20 builds between two CUDA events, as `moeblaze-bench dispatch` does.
"""

import statistics
import sys

import torch


def build(ids, experts):
    flat = ids.flatten()
    order = flat.argsort(stable=True)
    token = order // ids.shape[1]
    offsets = torch.bincount(flat, minlength=experts).cumsum(0)
    inverse = torch.empty_like(order)
    inverse[order] = torch.arange(order.numel(), device=order.device)
    return token, offsets, inverse


print("tokens,top_k,experts,microseconds")
for shape in sys.argv[1:] or ["65536x4x16", "65536x8x256", "1048576x8x64"]:
    tokens, top_k, experts = map(int, shape.split("x"))
    ids = torch.rand(tokens, experts, device="cuda").topk(top_k).indices.to(torch.int32)
    times = []
    for repeat in range(51):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(20):
            build(ids, experts)
        stop.record()
        torch.cuda.synchronize()
        times.append(1000 * start.elapsed_time(stop) / 20)
    print(f"{tokens},{top_k},{experts},{statistics.median(times[1:]):.1f}", flush=True)
