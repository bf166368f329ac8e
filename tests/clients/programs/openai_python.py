"""The openai package: one completion. Prints its text; tests/doors/openai has all else that the client asks for."""

from __future__ import annotations

import json
import sys

import openai

given = json.load(sys.stdin)
client = openai.OpenAI(base_url=given["base_url"], api_key=given["token"], max_retries=0)
said = client.chat.completions.create(model="jiyi", messages=[{"role": "user", "content": given["text"]}])
json.dump({"text": said.choices[0].message.content}, sys.stdout)
