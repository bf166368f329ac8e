"""Limits, and the servers that most people connect. No Django."""

from __future__ import annotations

from dataclasses import dataclass

MAX_SERVER_CHARS = 60
MAX_MODEL_CHARS = 130
# A model's name here: what its server calls it, after the server's name where two have one of that name.
MAX_NAME_CHARS = 200

MAX_URL_CHARS = 500
# Models of one server: somebody picks from their names in a menu.
MAX_MODELS = 100


@dataclass(frozen=True, slots=True)
class Preset:
    """A server that is known by name. `needs_key`: whether it answers nobody without one."""

    name: str
    base_url: str
    needs_key: bool = True


PRESETS = (
    Preset("OpenAI", "https://api.openai.com/v1"),
    Preset("DeepSeek", "https://api.deepseek.com/v1"),
    Preset("Qwen 通义千问", "https://dashscope.aliyuncs.com/compatible-mode/v1"),
    Preset("GLM 智谱", "https://open.bigmodel.cn/api/paas/v4"),
    Preset("Kimi 月之暗面", "https://api.moonshot.cn/v1"),
    Preset("Ollama", "http://127.0.0.1:11434/v1", needs_key=False),
    Preset("vLLM", "http://127.0.0.1:8000/v1", needs_key=False),
    Preset("llama.cpp", "http://127.0.0.1:8080/v1", needs_key=False),
)
