"""`apart.py LOGITS GRAPH`: how far the graph's logits are from those of logits.py at most."""

import json
import sys

import numpy as np
import onnxruntime


def main():
    told = json.load(open(sys.argv[1], encoding="utf-8"))
    session = onnxruntime.InferenceSession(sys.argv[2])
    inputs = {"input_ids": np.array(told["ids"], np.int64), "attention_mask": np.array(told["mask"], np.int64)}
    (logits,) = session.run(["logits"], inputs)
    print(float(np.abs(logits[:, 0] - np.array(told["logits"])).max()))


if __name__ == "__main__":
    main()
