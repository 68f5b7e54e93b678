"""`logits.py RUN PACKED TOKENIZER OUT`: the trained network's logits for a few pairs, scaled as choice.json says."""

import json
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts" / "reranker"))

import network  # noqa: E402
import train  # noqa: E402

PAIRS = [
    ("Who keeps the ledger?", "The ledger was kept by the harbour master's clerk, who wrote in pencil."),
    ("谁在桥上等她？", "他在桥上等她，等到天黑。"),
    ("Where?", "It rained."),
]


def main():
    run, packed, tokenizer, out = map(Path, sys.argv[1:])
    settings, choice = (json.loads((run / name).read_text()) for name in ("settings.json", "choice.json"))
    model = network.Reranker(network.packed_e5.read(packed), settings["layers"])
    model.load_state_dict(torch.load(run / "weights.pt"))
    model.eval()
    ids, mask = train.Reader(tokenizer, settings["tokens"]).padded(PAIRS)
    with torch.no_grad():
        logits = model(ids, mask) * choice["scale"] + choice["shift"]
    out.write_text(json.dumps({"ids": ids.tolist(), "mask": mask.long().tolist(), "logits": logits.tolist()}))


if __name__ == "__main__":
    main()
