"""Trains a small Qwen3-MoE with random weights and a fixed seed. `moeblaze-prof record` is tried on it.

    python3 kernels/tools/train_torch_moe.py [--steps N] [--large] [--profile FILE] [--snapshot FILE] [--time FILE]

--large     uses layers so large that the GPU, not Python, sets the pace
--profile   writes the number and total time of kernels as PyTorch's own profiler counts them, as JSON
--snapshot  writes PyTorch's memory snapshot, as pickle
--time      writes the median time of a step, as JSON
"""
import argparse
import json
import statistics
import time

import torch
from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM


def build(large):
    torch.manual_seed(0)
    config = Qwen3MoeConfig(hidden_size=2048 if large else 512, intermediate_size=1024,
                            moe_intermediate_size=2048 if large else 256, num_hidden_layers=2, num_attention_heads=8,
                            num_key_value_heads=4, head_dim=64, num_experts=16, num_experts_per_tok=4, vocab_size=4096,
                            max_position_embeddings=2048)
    model = Qwen3MoeForCausalLM(config).to("cuda", torch.bfloat16)
    return model, torch.optim.AdamW(model.parameters(), lr=1e-4)


def train(model, optimizer, steps, large):
    generator = torch.Generator().manual_seed(1)
    times = []
    for step in range(steps):
        tokens = torch.randint(0, 4096, (16, 1024) if large else (4, 256), generator=generator).cuda()
        start = time.perf_counter()
        torch.cuda.nvtx.range_push(f"step {step}")
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.nvtx.range_pop()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return times


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--profile")
    parser.add_argument("--snapshot")
    parser.add_argument("--time")
    args = parser.parse_args()
    if args.snapshot:
        torch.cuda.memory._record_memory_history(max_entries=1_000_000)
    if args.profile:
        from torch.profiler import ProfilerActivity, profile
        with profile(activities=[ProfilerActivity.CUDA]) as seen:
            model, optimizer = build(args.large)
            train(model, optimizer, args.steps, args.large)
        kernels = [e for e in seen.events() if e.device_type == torch.autograd.DeviceType.CUDA
                   and not e.name.startswith(("Memcpy", "Memset"))]
        with open(args.profile, "w") as out:
            json.dump({"kernels": len(kernels), "total_us": sum(e.device_time for e in kernels)}, out)
        return
    model, optimizer = build(args.large)
    times = train(model, optimizer, args.steps, args.large)
    if args.time:
        with open(args.time, "w") as out:
            json.dump({"step_ms": 1e3 * statistics.median(times[len(times) // 4:])}, out)
    if args.snapshot:
        torch.cuda.memory._dump_snapshot(args.snapshot)


if __name__ == "__main__":
    main()
