# SPDX-License-Identifier: GPL-3.0-or-later
"""The samplers of docs/verdicts.md: what is run, in which configuration, and what is claimed.

A command's words in braces are paths of verdicts.py. A subject's port gives its verdict where the
package cannot be installed. `lossy` marks what its own documentation calls an approximation.
"""
from typing import NamedTuple

VLLM = "{python} tests/verdicts/vllm_v2.py {vllm} "
SGLANG = "{python} tests/verdicts/sglang_chain.py {sglang} "
FACE = "{python} tests/verdicts/hugging_face.py "
PORT = "python3 tests/verdicts/ports.py "
PORT_FIXTURES = "plain-4,two-2,zipf-16,fixed-4"  # of ports that are right
PORT_BUDGET = "60k"
# A Python process with PyTorch maps more than the memory limit, and the interpreter is slow.
COMMON = ["--memory", "0", "--timeout", "300", "--threads", "1"]


class Subject(NamedTuple):
    name: str
    engine: str
    setting: str  # the configuration that it stands for
    sampler: str  # of speclab validate: a command, or a shared library; "": the port alone
    only: str
    budget: str
    options: str = ""
    port: str = ""  # the words behind ports.py
    port_only: str = ""  # its fixtures, where they differ
    lossy: bool = False
    wrong: str = ""  # what is wrong with it
    instead: str = ""  # what to set instead
    reproducer: str = ""


class Engine(NamedTuple):
    title: str
    package: str
    version: str
    release: str  # in the summary
    sources: tuple  # files, or file:name of a function or class, whose change is reported
    how: str  # what was run, and what was joined by us


ENGINES = [
    Engine(
        "vLLM", "vllm", "0.33.0", "0.33.0",
        ("vllm/v1/worker/gpu/spec_decode/rejection_sampler_utils.py",
         "vllm/v1/worker/gpu/sample/gumbel.py", "vllm/v1/spec_decode/fly.py",
         "vllm/v1/worker/gpu/structured_outputs.py:grammar_invalid_drafts"),
        "`rejection_sample` of the V2 runner and its Triton kernels, as released, by Triton's "
        "interpreter on the CPU. Added here: empty packages instead of `vllm` and "
        "`vllm.triton_utils`, because the real ones need a GPU; `log1p`, which the interpreter "
        "does not have; and for grammars the marking of drafts by -1, which the scheduler's "
        "`validate_tokens` and the runner's `grammar_invalid_drafts` do. The engine as a whole "
        "was not run.",
    ),
    Engine(
        "SGLang", "sglang", "0.5.23", "0.5.23",
        ("sglang/kernels/ops/speculative/reject_sampling.py",
         "sglang/kernels/jit/include/sgl_kernel/speculative/sampling.cuh"),
        "The Triton kernel of chains, `chain_speculative_sampling_triton`, by Triton's interpreter "
        "on the CPU; and the CUDA kernel of trees, `TreeSpeculativeSamplingTargetOnly`, compiled "
        "by a C++ compiler for one thread per block. Connected here: coins, links of the tree, and "
        "for the CUDA kernel a stand-in for the block operations of CUB and FlashInfer. The engine "
        "as a whole was not run. The following is derived from its source and was not run: on CPU "
        "and XPU, and on HIP "
        "without rejection sampling, `_verify_uses_greedy` in `eagle_utils.py` has EAGLE verify "
        "sampled requests by the argmax of the target's logits.",
    ),
    Engine(
        "Hugging Face transformers", "transformers", "5.23.0", "5.23.0",
        ("transformers/generation/utils.py:_speculative_sampling",
         "transformers/generation/candidate_generator.py"
         ":SinglePositionMultiTokenCandidateGenerator"),
        "`_speculative_sampling` as released. For Gemma 4 also the method `get_candidates` of "
        "`SinglePositionMultiTokenCandidateGenerator`, with an assistant model that returns the "
        "fixture's rows; the two calls are joined here as `_assisted_decoding` makes them. "
        "`generate` is the whole loop, with models whose logits are the fixture's rows.",
    ),
    Engine(
        "llama.cpp", "llama-cpp-python", "0.3.36", "(llama-cpp-python 0.3.36)",
        ("vendor/llama.cpp/common/sampling.cpp", "vendor/llama.cpp/src/llama-sampler.cpp",
         "vendor/llama.cpp/examples/speculative/speculative.cpp"),
        "The source in the package llama-cpp-python. `common/sampling.cpp` and "
        "`src/llama-sampler.cpp` are compiled as released; added here: a context that returns the "
        "fixture's rows, clocks and logging; all other functions are replaced by ones that abort. "
        "`examples/speculative/speculative.cpp` runs from its `main` on, with models, a cache and "
        "a tokenizer made here.",
    ),
    Engine(
        "Articles", "", "", "", (),
        "Samplers that articles print as code, as ports: their logic, not their text. The verdict "
        "is on the code as printed, which states that its output has the target's distribution.",
    ),
]

SUBJECTS = [
    Subject(
        "vllm-standard", "vLLM",
        "`rejection_sample_method` standard, `draft_sample_method` probabilistic",
        VLLM + "standard", "two-2", "6k", port="token",
    ),
    Subject(
        "vllm-one-hot", "vLLM",
        "standard, `draft_sample_method` greedy (the defaults)",
        VLLM + "standard", "fixed-4", "8k", port="token",
    ),
    Subject(
        "vllm-block", "vLLM",
        "`rejection_sample_method` block, probabilistic drafts",
        VLLM + "block", "two-2", "6k", port="block",
    ),
    Subject(
        "vllm-fly", "vLLM", "`rejection_sample_method` fly, probabilistic drafts",
        VLLM + "fly", "plain-4", "3k", port="fly", lossy=True,
        wrong="The documentation calls it lossy.",
        instead="`rejection_sample_method` standard or block",
    ),
    Subject(
        "vllm-grammar", "vLLM",
        "standard, probabilistic drafts, structured output",
        VLLM + "standard grammar", "target-zeros-8", "2k", port="grammar",
        wrong="A draft token that the grammar forbids is a rejection by the token rule, and its "
        "replacement must be drawn from the residual; the kernel draws it from the target. "
        "Tokens that the draft overrates occur too often; the TV is the draft's mass on forbidden "
        "tokens times the TV of target and residual. Every token still obeys the grammar.",
        instead="`draft_sample_method` greedy, the default",
        reproducer="vllm_grammar.py",
    ),
    Subject(
        "vllm-grammar-block", "vLLM",
        "block, probabilistic drafts, structured output",
        VLLM + "block grammar", "target-zeros-8", "2k", port="grammar-block",
        wrong="The same, with block verification. On this fixture both rules accept the same "
        "tokens, since each token that the grammar allows is at least as probable in the target "
        "as in the draft.",
        instead="`draft_sample_method` greedy, the default",
    ),
    Subject(
        "vllm-grammar-one-hot", "vLLM",
        "standard, greedy drafts, structured output (the default with a grammar)",
        VLLM + "standard grammar", "fixed-zeros-8", "6k", port="grammar",
        port_only="fixed-zeros-8",
    ),
    Subject(
        "sglang-token", "SGLang",
        "`--speculative-use-rejection-sampling`",
        SGLANG + "token", "two-2,plain-4", "30k", port="token",
    ),
    Subject(
        "sglang-block", "SGLang",
        "the same, with block verification",
        SGLANG + "block", "two-2,plain-4", "30k", port="block",
    ),
    Subject(
        "sglang-target-only", "SGLang",
        "the default for trees and chains: `--speculative-accept-threshold-single 1`, "
        "`--speculative-accept-threshold-acc 1`",
        "{sglang_tree}", "", "2M", options="1 1", port="target-only 1 1",
    ),
    Subject(
        "sglang-threshold-acc", "SGLang",
        "`--speculative-accept-threshold-acc 0.8`",
        "{sglang_tree}", "plain-4,one-hot-draft-4", "2M", options="1 0.8",
        port="target-only 1 0.8", lossy=True,
        wrong="Its help text says that acceptance is raised.",
        instead="1, the default",
    ),
    Subject(
        "sglang-threshold-single", "SGLang",
        "`--speculative-accept-threshold-single 0.5`",
        "{sglang_tree}", "plain-4,one-hot-draft-4", "2M", options="0.5 1",
        port="target-only 0.5 1", lossy=True,
        wrong="Its help text says that likely tokens are accepted.",
        instead="1, the default",
    ),
    Subject(
        "transformers-sampled", "Hugging Face transformers",
        "`generate(assistant_model=..., do_sample=True)`: `_speculative_sampling` alone",
        FACE + "sampled", "plain-4,two-2,zipf-16", "60k", port="token",
    ),
    Subject(
        "transformers-generate", "Hugging Face transformers",
        "`generate(assistant_model=..., do_sample=True)`, the whole loop",
        "{python} tools/validate/adapters/transformers_generate.py", "plain-4", "20k", port="token",
    ),
    Subject(
        "transformers-gemma4", "Hugging Face transformers",
        "`generate(assistant_model=..., do_sample=True)` with a Gemma 4 assistant",
        FACE + "gemma4", "blind-3", "10k", port="argmax-drafts",
        wrong="The generator drafts the argmax of the assistant's logits, and returns the logits. "
        "The verifier divides by their softmax, as if the draft had been sampled: the assistant's "
        "favourite token occurs too often. Greedy decoding compares with the target's argmax.",
        instead="`do_sample=False`, or no `assistant_model`",
        reproducer="transformers_gemma4.py",
    ),
    Subject(
        "transformers-ensemble", "Hugging Face transformers",
        "`assistant_ensemble_weight=0.7`",
        FACE + "ensemble 0.7", "plain-4,blind-64", "20k", port="ensemble 0.7", lossy=True,
        wrong="The documentation states the bias.",
        instead="None, the default",
    ),
    Subject(
        "llama-server", "llama.cpp",
        "llama-server, llama-cli and speculative-simple: "
        "`common_sampler_sample_and_accept_n`",
        "{llama}", "", "3M", port="match",
    ),
    Subject(
        "llama-example", "llama.cpp",
        "examples/speculative with a temperature above 0, one sequence",
        "{llama_example}", "plain-4,text-1-4", "300k", port="argmax-drafts", port_only="blind-3",
        wrong="It drafts the draft's most probable token, and accepts it by the ratio of target to "
        "draft, as if it had been drawn.",
        instead="llama-server or examples/speculative-simple",
        reproducer="llama_example.py",
    ),
    Subject(
        "llama-example-greedy", "llama.cpp",
        "examples/speculative with temperature 0",
        "{llama_example}", "greedy-8", "300k", port="match", port_only="one-hot-target-4",
    ),
    Subject(
        "article-numpy", "Articles",
        "[Speculative Decoding from Scratch: How LLMs Generate Text 2-3x Faster]"
        "(https://daddaops.com/blog/speculative-decoding-from-scratch/index.html)",
        "", "", "", port="token",
    ),
    Subject(
        "article-torch", "Articles",
        "an article whose copy at hand has no title, by its headings: The Fundamental Bottleneck "
        "of LLM Inference; Speculative Decoding Principles; Advanced Techniques",
        "", "", "", port="token",
    ),
    Subject(
        "article-rows", "Articles",
        "Speculative Decoding for LLMs: Accelerate Inference 2–3× with Draft Models (no address "
        "at hand), read as its comment says",
        "", "plain-4", "", port="article-rows",
        wrong="The available copy has lost its indentation; it is read here as its comment says: "
        "if no token is accepted, the next one is drawn from the last row of the target, which "
        "follows all drafted tokens. The right row is the first one, minus the draft's. With the "
        "other reading, the last row after a draft that was accepted completely, the distribution "
        "is right. In either case PyTorch refuses the correction's shape, (1, 1, 1), when it "
        "is appended.",
        instead="the target's first row minus the draft's",
        reproducer="article_rows.py",
    ),
]


def port_fixtures(subject):
    return subject.port_only or (subject.only if subject.wrong else PORT_FIXTURES)


def port_words(subject):
    """The words behind `speclab validate` for the port of a subject."""
    only = ["--only", port_fixtures(subject)]
    return ["--exec", PORT + subject.port, *only, "--budget", PORT_BUDGET]


def words_of(subject, sampler):
    """The words behind `speclab validate` for a sampler whose braces are filled."""
    library = sampler.endswith(".so")
    words = [sampler] if library else ["--exec", sampler]
    if subject.options:
        words += ["--options", subject.options]
    if subject.only:
        words += ["--only", subject.only]
    return words + ["--budget", subject.budget] + (COMMON if "{python}" in subject.sampler else [])
