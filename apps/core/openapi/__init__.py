"""How the API describes itself: the OpenAPI document at ``/api/schema`` and in ``docs/openapi.yaml``.

Beside the module of each view is an ``openapi.py``. Its ``OPERATIONS`` has an `Operation` for each method and path:

    OPERATIONS = {
        "GET /summaries/{summary_id}": Operation(
            id="get_summary",
            summary="Get a summary",
            tag="Summaries",
            answers={200: Answer(SessionSummarySerializer, SUMMARY)},
        ),
    }

The view itself needs no decorator. Errors that many operations share (no token, no such object, …) are added from what
the operation takes (`errors.list_shared_statuses`); `problems` names only its own. Each of these needs a request that
provokes it in ``tests/contracts/test_documented_errors.py``. The title, tags and names of enumerations are in
``project/openapi.py``. ``tests/contracts/test_document.py`` says what is missing; `make openapi` writes the document.
"""
