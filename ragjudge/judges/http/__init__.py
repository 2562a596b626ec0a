"""The judge behind an OpenAI-compatible server: llama-server, Ollama, vLLM, LM Studio and their like.

    judge ─> calling ─> client         a request with its retries, one exchange over HTTP
      ├────> schedule                  in which order calls are sent
      ├────> asking ─> reply           what is sent for a call, and how an answer in text is read
      ├────> logprobs ─> completion    how an answer is read from its first token; what a server answers
      └────> settings, failures        what the user sets; a call without an answer

Only `client` speaks to the network, and only to the address that the user named.
"""

from __future__ import annotations

from ragjudge.judges.http.judge import HttpJudge

__all__ = ["HttpJudge"]
