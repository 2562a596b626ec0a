"""The judge behind an OpenAI-compatible server: llama-server, Ollama, vLLM, LM Studio and their like.

judge ─> calling ─> client              requests, retries, one exchange over HTTP
├────> asking                         what is sent for a call, and how its answer is read
│        └─> logprobs, reply          … from the first token, … from text
├────> schedule                       in which order calls are sent
└────> settings, completion           what the user sets, what a server answers
"""

from __future__ import annotations

from ragjudge.judges.http.judge import HttpJudge

__all__ = ["HttpJudge"]
