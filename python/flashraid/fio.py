"""Results in fio's JSON format."""

import json
from collections.abc import Sequence


def merged(texts: Sequence[str]) -> str:
    """Merges several documents into one with a job for each scheme, in the same order."""
    documents = [json.loads(text) for text in texts]
    for group, document in enumerate(documents):
        document["jobs"][0]["groupid"] = group
    both = {key: [of for document in documents for of in document[key]] for key in ("jobs", "disk_util")}
    return json.dumps({**documents[0], **both}, indent=2) + "\n"
