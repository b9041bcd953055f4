#!/usr/bin/env python3
"""Draws rooms.txt as rooms.svg: who may include whom. Run it without arguments after every change of rooms.txt.

A large box is a room, a small one a folder in it. Arrows lead downwards, from the folder that includes to the one that
is included. Arrows that follow from others are left out: where A includes B and C, and B includes C, there is no arrow
from A to C. Arrows between folders of two rooms are drawn as one arrow between the rooms.
"""

import fnmatch
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
BOX, GAP, LAYER, PAD, TITLE, ROW = 24, 14, 50, 16, 30, 44  # heights and distances in pixels
COLORS = {"core": "#dbe9f6", "traces": "#dff0e1", "simulator": "#fdf1d3", "kernels": "#f9dfdc", "profiler": "#eadff2",
          "gui": "#d9eef0"}


def read_rules(path):
    """The folders that each folder may include, patterns replaced by the folders they stand for."""
    lines = [line.split(":", 1) for line in path.read_text().splitlines() if ":" in line and not line.startswith("#")]
    rules = {head: names.split() for head, names in lines if not head.startswith(("never ", "generated"))}
    return {folder: {other for name in patterns for other in rules if other != folder and fnmatch.fnmatch(other, name)}
            for folder, patterns in rules.items()}


def reduced(arrows):
    """The arrows without those that follow from others."""
    def reach(start):
        return {end for step in arrows[start] for end in {step} | reach(step)}
    return {start: {end for end in ends if not any(end in reach(step) for step in ends - {end})}
            for start, ends in arrows.items()}


def layers_of(arrows):
    """The nodes by layer, 0 at the bottom: each above everything it points at. Long arrows get a waypoint per layer."""
    depth = {}

    def measure(node):
        if node not in depth:
            depth[node] = max((measure(end) + 1 for end in arrows[node]), default=0)
        return depth[node]

    layers = [[] for _ in range(max(map(measure, arrows)) + 1)]
    for node in sorted(arrows):
        layers[depth[node]].append(node)
    chains = []
    for start in sorted(arrows):
        for end in sorted(arrows[start]):
            waypoints = [(start, end, level) for level in range(depth[start] - 1, depth[end], -1)]
            for waypoint in waypoints:
                layers[waypoint[2]].append(waypoint)
            chains.append([start, *waypoints, end])
    return layers, chains


def width_of(node, room):
    return 8 if isinstance(node, tuple) else 7 * len(label_of(node, room)) + 16


def label_of(folder, room):
    return folder.removeprefix(room + "/") if folder != room else room + "/"


def mean(numbers):
    return sum(numbers) / max(1, len(numbers))


def place(layers, chains, room):
    """Centres {node: (x, y)} in the room, and its size. Nodes are ordered by the mean place of their neighbours."""
    near = {node: [] for layer in layers for node in layer}
    for chain in chains:
        for one, other in zip(chain, chain[1:]):
            near[one].append(other)
            near[other].append(one)
    widths = [sum(width_of(node, room) + GAP for node in layer) - GAP for layer in layers]
    room_width = max(*widths, 7 * len(room) + 40) + 2 * PAD
    at = {}
    for sweep in range(12):
        for level in range(len(layers)) if sweep % 2 == 0 else reversed(range(len(layers))):
            layer = layers[level]
            layer.sort(key=lambda node: mean([at[other] for other in near[node] if other in at]))
            x = (room_width - widths[level]) / 2
            for node in layer:
                at[node] = x + width_of(node, room) / 2
                x += width_of(node, room) + GAP
    height = TITLE + PAD + LAYER * (len(layers) - 1) + BOX
    places = {node: (at[node], height - PAD - BOX / 2 - LAYER * level)
              for level, layer in enumerate(layers) for node in layer}
    return places, (room_width, height)


def arrow(points, kind="arrow"):
    """A smooth arrow through points, each above the next."""
    text = f"M{points[0][0]:.0f},{points[0][1]:.0f}"
    for (x0, y0), (x1, y1) in zip(points, points[1:]):
        middle = (y0 + y1) / 2
        text += f" C{x0:.0f},{middle:.0f} {x1:.0f},{middle:.0f} {x1:.0f},{y1:.0f}"
    x, y = points[-1]
    return f'<path d="{text}" class="{kind}"/><path d="M{x - 4:.0f},{y - 3:.0f} h8 l-4,8 z" fill="#333"/>'


def draw_room(room, arrows, left, top):
    """The room's drawing with its upper left corner there."""
    layers, chains = layers_of(arrows)
    places, (width, height) = place(layers, chains, room)
    out = [f'<rect x="{left:.0f}" y="{top:.0f}" width="{width:.0f}" height="{height:.0f}" rx="8" '
           f'fill="{COLORS.get(room, "#eee")}" stroke="#888"/>',
           f'<text x="{left + 12:.0f}" y="{top + 20:.0f}" class="room">{room}</text>']
    for chain in chains:
        points = [(left + places[node][0], top + places[node][1]) for node in chain]
        points[0] = (points[0][0], points[0][1] + BOX / 2)
        points[-1] = (points[-1][0], points[-1][1] - BOX / 2 - 5)
        out.append(arrow(points))
    for node, (x, y) in places.items():
        if isinstance(node, tuple):
            continue
        size, x, y = width_of(node, room), left + x, top + y
        out.append(f'<rect x="{x - size / 2:.0f}" y="{y - BOX / 2:.0f}" width="{size}" height="{BOX}" rx="4" '
                   f'fill="#fff" stroke="#666"/><text x="{x:.0f}" y="{y + 4:.0f}">{label_of(node, room)}</text>')
    return out


def draw_all(rooms, between):
    """All rooms in rows, a room below those that include it: the drawing, the rooms' boxes and the drawing's size."""
    rows = [[node for node in layer if not isinstance(node, tuple)] for layer in reversed(layers_of(between)[0])]
    for above, row in zip(rows, rows[1:]):
        row.sort(key=lambda room: [number for number, other in enumerate(above) if room in between[other]][:1])
    inside = {room: reduced({folder: others & set(folders) for folder, others in folders.items()})
              for room, folders in rooms.items()}
    sizes = {room: place(*layers_of(arrows), room)[1] for room, arrows in inside.items()}
    widths = [sum(sizes[room][0] + 40 for room in row) - 40 for row in rows]
    body, boxes, top = [], {}, 16
    for row, width in zip(rows, widths):
        left = 16 + (max(widths) - width) / 2
        for room in row:
            body += draw_room(room, inside[room], left, top)
            boxes[room] = (left, top, *sizes[room])
            left += sizes[room][0] + 40
        top += max(sizes[room][1] for room in row) + ROW
    return body, boxes, (max(widths) + 32, top + 16 - ROW)


def main():
    rules = read_rules(HERE / "rooms.txt")
    rooms = {}
    for folder, others in rules.items():
        rooms.setdefault(folder.split("/")[0], {})[folder] = others
    between = reduced({room: {other.split("/")[0] for others in folders.values() for other in others} - {room}
                       for room, folders in rooms.items()})
    body, boxes, size = draw_all(rooms, between)
    for room, others in between.items():
        x, y, width, height = boxes[room]
        for number, other in enumerate(sorted(others, key=lambda name: boxes[name][0]), 1):
            end = boxes[other]
            start_x = x + width * number / (len(others) + 1)
            end_x = min(max(start_x, end[0] + 40), end[0] + end[2] - 40)
            body.append(arrow([(start_x, y + height), (start_x, end[1] - ROW), (end_x, end[1] - 6)], "between"))
    style = ("text{font:12px sans-serif;text-anchor:middle}.room{font-weight:bold;font-size:14px;text-anchor:start}"
             ".arrow{fill:none;stroke:#555}.between{fill:none;stroke:#333;stroke-width:3}")
    (HERE / "rooms.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]:.0f}" height="{size[1]:.0f}">\n'
        f'<style>{style}</style><rect width="100%" height="100%" fill="#fff"/>\n'
        + "\n".join(body) + "\n</svg>\n")


main()
