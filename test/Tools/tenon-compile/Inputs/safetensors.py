# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write parameters for packed-parameters.test as safetensors files, whole and wrong; then look at the output."""

import json
import struct
import sys
from pathlib import Path

import numpy as np

step, folder = sys.argv[1], Path(sys.argv[2])
random = np.random.default_rng(0)
x, w, b, s = (random.normal(size=shape).astype(np.float32) for shape in ((5, 8), (4, 8), (4,), (4,)))


def write(name, good=True, **tensors):
    """Write tensors, with a header as Hugging Face's library writes it; or all of them a byte short in it."""
    header, values = {"__metadata__": {"format": "np"}}, b""
    for key, tensor in tensors.items():
        begin, values = len(values), values + tensor.tobytes()
        dtype = {"float16": "F16", "float32": "F32", "float64": "F64", "int64": "I64"}[str(tensor.dtype)]
        header[key] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": [begin, len(values) - (not good)]}
    text = json.dumps(header).encode()
    (folder / name).write_bytes(struct.pack("<Q", len(text)) + text + values)


if step == "write":
    np.save(folder / "x.npy", x)
    np.save(folder / "ones.npy", np.ones((1, 8), np.float32))
    write("good.safetensors", count=np.array(3), s=s, b=b, w=w)
    write("unread.safetensors", s=s, b=b, w=w, u=b)
    write("other.safetensors", w=w[:, :7], s=s.astype(np.int64))
    good = (folder / "good.safetensors").read_bytes()
    (folder / "cut.safetensors").write_bytes(good[:-4])
    write("short.safetensors", good=False, s=s, b=b, w=w)
    write("dotted.safetensors", **{"s": s, "l.bias": b, "0.weight": w})
    write("prefixed.safetensors", **{"enc.s": s, "enc.l.bias": b, "enc.0.weight": w, "dec.s": b, "s": b})
    write("wide.safetensors", s=s, b=b.astype(np.float64), w=w.astype(np.float64))
    write("large.safetensors", s=s, b=b.astype(np.float64), w=w.astype(np.float64) * 1e300)
    halves = np.array([1.0, -0.5, np.inf, 2.0**-24], np.float16)
    write("halves.safetensors", s=halves, b=np.zeros(4, np.float16), w=np.ones((4, 8), np.float16))
    write("first.safetensors", s=s, w=w)
    write("second.safetensors", b=b)
    places = {"s": "first.safetensors", "w": "first.safetensors", "b": "second.safetensors"}
    for name, index in {
        "good": {"metadata": {"total_size": 1}, "weight_map": places},
        "twice": {"weight_map": places | {"x": "good.safetensors"}},
        "away": {"weight_map": places | {"b": "../second.safetensors"}},
        "mapless": {},
    }.items():
        (folder / f"{name}.index.json").write_text(json.dumps(index))
    nested = b'{"w": ' + b"[" * 100000
    (folder / "nested.safetensors").write_bytes(struct.pack("<Q", len(nested)) + nested)
    (folder / "text.safetensors").write_bytes(b"w = 1, b = 2")
elif step == "halves":
    y = np.load(folder / "y.npy")
    halves = np.array([1.0, -0.5, np.inf, 2.0**-24], np.float32)
    assert np.allclose(y, np.maximum(np.ones((1, 8), np.float32) @ np.ones((8, 4), np.float32) * halves, 0))
else:
    y = np.load(folder / "y.npy")
    assert np.allclose(y, np.maximum((x @ w.T + b) * s, 0), rtol=1e-5, atol=1e-5)
