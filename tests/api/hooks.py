"""What Schemathesis can't know from the document: a body that says it is gzip has to be."""

import gzip

import schemathesis


def zipped(request):
    """Zips what is about to be sent; the case itself, which is judged later, stays as it is."""
    if isinstance(request.body, str):
        request.body = request.body.encode()
    if request.body:
        request.body = gzip.compress(request.body)
        request.headers["Content-Length"] = str(len(request.body))
    return request


@schemathesis.hook
def before_call(context, case, kwargs):
    """In cases that are to be taken; one that is to be refused may as well lie."""
    taken = case.meta is None or case.meta.generation.mode.is_positive
    if taken and (case.headers or {}).get("Content-Encoding") == "gzip":
        kwargs["auth"] = zipped
