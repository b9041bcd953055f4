"""Turns a PyTorch memory snapshot into the lines that tests/simulator/allocator_replay_test.cpp replays.

    python3 simulator/tools/torch_requests.py snapshot.pickle > tests/data/torch_requests_qwen3moe.csv

Lines `segment` and `block` are what existed when the recording began. The script finds them by undoing the recorded
events, last to first, from the final state. All other lines are the events in their order; a free_requested and the
free_completed right after it become one `free`. Sizes are the requested bytes, addresses are hexadecimal.
"""

import pickle
import sys


def undo(snapshot, trace):
    """The segments and the used blocks at the start of `trace`, both as {address: (size, stream)}."""
    segments = {s["address"]: (s["total_size"], s["stream"]) for s in snapshot["segments"]}
    blocks = {
        b["address"]: (b["requested_size"], s["stream"])
        for s in snapshot["segments"] for b in s["blocks"] if b["state"] != "inactive"
    }
    for event in reversed(trace):
        value = (event["size"], event["stream"])
        if event["action"] == "alloc":
            del blocks[event["addr"]]
        elif event["action"] == "free_completed":
            blocks[event["addr"]] = value
        elif event["action"] == "segment_alloc":
            del segments[event["addr"]]
        elif event["action"] == "segment_free":
            segments[event["addr"]] = value
    return segments, blocks


def main():
    with open(sys.argv[1], "rb") as file:
        snapshot = pickle.load(file)
    trace = next(t for t in snapshot["device_traces"] if t)
    segments, blocks = undo(snapshot, trace)
    print("action,address,size,stream")
    for name, values in (("segment", segments), ("block", blocks)):
        for address in sorted(values):
            print(f"{name},{address:x},{values[address][0]},{values[address][1]}")
    for event, following in zip(trace, trace[1:] + [{}]):
        action = event["action"]
        completed = following.get("action") == "free_completed" and following["addr"] == event["addr"]
        if action == "free_requested" and completed:
            continue
        if action == "free_completed":
            action = "free"
        print(f"{action},{event['addr']:x},{event['size']},{event['stream']}")


main()
