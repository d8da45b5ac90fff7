"""The web application: routes, and one middleware through which every error leaves as a Problem."""

from aiohttp import web
from aiohttp.typedefs import Handler

from hitpath.serve import cache_view, completions, info
from hitpath.serve.problems import problem_response
from hitpath.serve.state import NAMES, STATE, ServerState

CLIENT_LEFT = 499
"""In metrics, for an answer that nobody waited for (nginx's number)."""

OTHER = "other"
"""In metrics, for paths that are no route."""


def make_app(state: ServerState, most_body_bytes: int) -> web.Application:
    """An application on one engine, which is started and stopped elsewhere (server.py)."""
    app = web.Application(middlewares=[answer_errors], client_max_size=most_body_bytes)
    app[STATE] = state
    app.router.add_post("/v1/chat/completions", completions.chat_completions)
    app.router.add_post("/v1/completions", completions.completions)
    app.router.add_get("/v1/models", info.models)
    app.router.add_get("/v1/models/{name:.+}", info.model)
    app.router.add_post("/tokenize", info.tokenize)
    app.router.add_post("/detokenize", info.detokenize)
    app.router.add_get("/v1/cache", cache_view.show_cache)
    app.router.add_delete("/v1/cache", cache_view.clear_cache)
    app.router.add_get("/health", info.health)
    app.router.add_get("/metrics", info.metrics)
    return app


@web.middleware
async def answer_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Count what is open and what is answered; errors become OpenAI's form."""
    state = request.app[STATE]
    state.num_open += 1
    try:
        response = await handler(request)
    except ConnectionError:
        response = web.Response(status=CLIENT_LEFT)
    except Exception as error:
        doing = f"answering {request.path}"
        response = problem_response(state.told(error, doing, request.get(NAMES)))
    finally:
        state.num_open -= 1
    resource = request.match_info.route.resource
    state.metrics.responded(resource.canonical if resource else OTHER, response.status)
    return response
