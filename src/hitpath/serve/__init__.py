"""The engine behind an OpenAI-compatible API: the only place of HTTP, ZMQ and Prometheus.

    request body --bodies, parameters--> typed --prompts, sampling--> GenerationRequest
    --AsyncEngine.stream--> chunks --collect--> answer, or --events--> server-sent events

Nothing here imports torch at module level but `run`, which loads the engine. Listens on
127.0.0.1 unless told otherwise, and calls nobody.
"""
