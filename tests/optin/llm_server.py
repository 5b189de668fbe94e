"""Serve a GGUF file with an OpenAI-compatible API on loopback, by one thread, until stdin closes.

Usage: python llm_server.py FILE.gguf    (needs ``xllamacpp``; prints the address on the first line)
"""

import sys

import xllamacpp


def main(path: str) -> None:
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.hostnames = ["127.0.0.1"]
    params.n_ctx = 6144
    params.n_predict = 700  # no reply goes on for ever
    params.n_parallel = 1
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.warmup = False
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1])
