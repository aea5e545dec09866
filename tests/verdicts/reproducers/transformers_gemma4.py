# SPDX-License-Identifier: MIT
# transformers with a Gemma 4 assistant and do_sample=True: the draft is the assistant's argmax,
# and its raw logits reach the judge, which divides by their softmax.
import torch
from transformers.generation.utils import _speculative_sampling

torch.manual_seed(42)
target = torch.tensor([[[0.6, 0.3, 0.1], [1.0, 0.0, 0.0]]]).log()
assistant = torch.tensor([[[0.5, 0.4, 0.1]]]).log()
drafted = assistant.argmax(-1)  # as SinglePositionMultiTokenCandidateGenerator does
seen = [0, 0, 0]
for _ in range(1000):
    seen[_speculative_sampling(drafted, assistant, 1, target)[0][0, 0]] += 1
print("emitted", [n / 1000 for n in seen], "target", [0.6, 0.3, 0.1])
