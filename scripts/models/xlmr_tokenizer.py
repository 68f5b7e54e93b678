"""XLM-RoBERTa's tokenizer in the format of the `tokenizers` library (`tokenizer.json`)."""

import json
from pathlib import Path

# XLM-R normalizes by SentencePiece's `nmt_nfkc`, which is NFKC but for the fullwidth tilde: that one stays. So it
# steps aside while NFKC runs, in the guise of the last private-use character, which no text should hold.
KEPT = "\uff5e"
GUISE = "\U0010fffd"


def tokenizer(pieces: list, special: dict, unk: int) -> dict:
    """A Unigram tokenizer over (piece, score) in id order, with XLM-R's normalizer and templates.

    `special` maps ids to the special tokens, `<s>` and `</s>` among them.
    """
    ids = {content: token for token, content in special.items()}

    def mark(content):
        return {"SpecialToken": {"id": content, "type_id": 0}}

    def text(which):
        return {"Sequence": {"id": which, "type_id": 0}}

    def replace(pattern, content):
        return {"type": "Replace", "pattern": pattern, "content": content}

    metaspace = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
    single = [mark("<s>"), text("A"), mark("</s>")]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": token,
                "content": content,
                "single_word": False,
                "lstrip": content == "<mask>",
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for token, content in sorted(special.items())
        ],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                replace({"String": KEPT}, GUISE),
                {"type": "Nmt"},
                {"type": "NFKC"},
                replace({"String": GUISE}, KEPT),
                replace({"Regex": " {2,}"}, " "),
            ],
        },
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, metaspace]},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": single,
            "pair": single + [mark("</s>"), text("B"), mark("</s>")],
            "special_tokens": {
                content: {"id": content, "ids": [ids[content]], "tokens": [content]} for content in ("<s>", "</s>")
            },
        },
        "decoder": metaspace,
        "model": {"type": "Unigram", "unk_id": unk, "vocab": [list(piece) for piece in pieces], "byte_fallback": False},
    }


def write(tokenizer: dict, path: Path):
    """The same tokenizer gives the same bytes."""
    Path(path).write_text(json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
