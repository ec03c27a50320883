from typing import Any

class CardDecorator:
    attributes: dict[str, Any]
    card_creator: Any
    card_options: Any
    _card_uuid: Any
    _user_set_card_id: Any
    _called_once: dict[str, bool]
    def __init__(self, attributes: dict[str, Any]) -> None: ...
    @classmethod
    def _set_card_counts_per_step(cls, step_name: str, total_count: int) -> None: ...
