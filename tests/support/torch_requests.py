"""Turns a PyTorch memory snapshot into the lines that tests/simulator/caching_allocator_test.cpp replays:

    python3 torch_requests.py snapshot.pickle > torch_requests.csv

`segment` and `block` lines are what existed when the recording began, found by undoing its events from its final
state; all others are its events in order, a free_requested and the free_completed behind it as one `free`. Sizes in
bytes, as requested; addresses in hexadecimal.
"""

import pickle
import sys


def undo(snapshot, trace):
    """Segments {address: (size, stream)} and used blocks {address: (size, stream)} at the start of `trace`."""
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
