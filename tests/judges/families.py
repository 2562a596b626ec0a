"""Chat templates in the style of well-known families, and the tokens that steer those models.

Written for the tests: each has the turn marks, roles and peculiarities of its family and nothing else.
"""

from __future__ import annotations

from typing import NamedTuple

QWEN = """{% for m in messages %}
{{- '<|im_start|>' + m.role + '\\n' }}
{%- if m.role == 'assistant' and m.reasoning_content %}
{{- '<think>\\n' + m.reasoning_content + '\\n</think>\\n\\n' }}
{%- endif %}
{{- m.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}
{%- if enable_thinking is defined and enable_thinking is false %}
{{- '<think>\\n\\n</think>\\n\\n' }}
{%- endif %}
{%- endif %}"""

LLAMA_3 = """{{ bos_token }}{% for m in messages %}
{{- '<|start_header_id|>' + m.role + '<|end_header_id|>\\n\\n' + m.content | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}"""

GEMMA = """{{ bos_token }}{% for m in messages %}
{%- if m.role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}
{{- '<start_of_turn>' + ('model' if m.role == 'assistant' else m.role) + '\\n' + m.content | trim }}
{{- '<end_of_turn>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}"""

MISTRAL = """{{ bos_token }}{% set ns = namespace(system='') %}
{%- for m in messages %}
{%- if m.role == 'system' %}{% set ns.system = m.content + '\\n\\n' %}
{%- elif m.role == 'user' %}{{ '[INST] ' + ns.system + m.content + ' [/INST]' }}
{%- else %}{{ ' ' + m.content + eos_token }}{% endif %}
{%- endfor %}"""

PHI = """{% for m in messages %}{{ '<|' + m.role + '|>\\n' + m.content + '<|end|>\\n' }}{% endfor %}
{%- if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}"""

GPT_OSS = """{{ '<|start|>system<|message|>Today: ' + strftime_now('%Y-%m-%d') + '<|end|>' }}
{%- for m in messages %}
{%- if m.role == 'system' %}{{ '<|start|>developer<|message|># Instructions\\n\\n' + m.content + '<|end|>' }}
{%- elif m.role == 'user' %}{{ '<|start|>user<|message|>' + m.content + '<|end|>' }}
{%- else %}
{%- if m.thinking %}
{{- '<|start|>assistant<|channel|>analysis<|message|>' + m.thinking + '<|end|>' }}
{%- endif %}
{{- '<|start|>assistant<|channel|>final<|message|>' + m.content + '<|return|>' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|start|>assistant' }}{% endif %}"""

R1 = """{{ bos_token }}{% for m in messages %}
{%- if m.role == 'system' %}{{ m.content }}
{%- elif m.role == 'user' %}{{ '<｜User｜>' + m.content }}
{%- else %}{{ '<｜Assistant｜>' + m.content.split('</think>')[-1] + eos_token }}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<｜Assistant｜><think>\\n' }}{% endif %}"""

SEED = """{% for m in messages %}
{{- '<seed:bos>' + m.role + '\\n' }}
{%- if m.role == 'assistant' and m.reasoning_content %}
{{- '<seed:think>' + m.reasoning_content + '</seed:think>\\n' }}
{%- endif %}
{{- m.content + '<seed:eos>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<seed:bos>assistant\\n' }}{% endif %}"""


class Family(NamedTuple):
    """A family of models.

    Attributes:
        template: Its chat template.
        controls: Tokens that its vocabulary marks as control tokens.
        ordinary: Marks of its frame that its vocabulary marks as words of the user's, or does not have.
    """

    template: str
    controls: tuple[str, ...]
    ordinary: tuple[str, ...] = ()


FAMILIES = {
    "Qwen": Family(QWEN, ("<|im_start|>", "<|im_end|>", "<|endoftext|>"), ("<think>", "</think>")),
    "Llama 3": Family(
        LLAMA_3, ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>")
    ),
    "Gemma": Family(GEMMA, ("<bos>",), ("<start_of_turn>", "<end_of_turn>")),
    "Mistral": Family(MISTRAL, ("[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[TOOL_CALLS]")),
    "Mistral, marks are text": Family(MISTRAL, (), ("[INST]", "[/INST]")),
    "Phi": Family(PHI, ("<|system|>", "<|user|>", "<|assistant|>", "<|end|>", "<|endoftext|>")),
    "gpt-oss": Family(
        GPT_OSS,
        ("<|start|>", "<|message|>", "<|channel|>", "<|end|>", "<|return|>", "<|call|>", "<|constrain|>"),
    ),
}
