from typing import Any

class StepDecorator:
    attributes: dict[str, Any]
