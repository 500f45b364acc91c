"""Start ministack, and serve a deployed lane's route on its own address too.

It serves an HTTP API under a host name that few machines resolve, and below a path that no client of
the lane posts to. Here `/api/events` of the address it listens on goes to the HTTP API of an ingest.
"""
from ministack import app as ministack
from ministack.services import apigateway

ROUTE = "/api/events"
_app = ministack.app


def _ingest():
    names = ((api_id, api.get("name", "")) for (_, _, api_id), api in apigateway._apis.all_items())
    return next((api_id for api_id, name in names if name.endswith("-ingest")), None)


async def _with_route(scope, receive, send):
    api_id = _ingest() if scope["type"] == "http" and scope["path"] == ROUTE else None
    if api_id is not None:
        path = f"/_aws/execute-api/{api_id}/$default{ROUTE}"
        scope = {**scope, "path": path, "raw_path": path.encode()}
    await _app(scope, receive, send)


ministack.app = _with_route
ministack.main()
