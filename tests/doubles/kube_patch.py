"""What an API server does with a body that changes an object: RFC 6902 and merge patches."""
import copy


class Refused(Exception):
    def __init__(self, code, reason, message, **details):
        super().__init__(message)
        self.code, self.reason, self.message, self.details = code, reason, message, details

    def status(self):
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": self.message, "reason": self.reason,
                "code": self.code, "details": self.details}


def merge(target, patch):
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    target = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        else:
            target[key] = merge(target.get(key), value)
    return target


def steps(pointer):
    if pointer == "":
        return []
    if not pointer.startswith("/"):
        raise Refused(422, "Invalid", f"bad pointer {pointer}")
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/")]


def value_at(document, path):
    for part in path:
        document = document[int(part)] if isinstance(document, list) else document[part]
    return document


class Patched:
    """A copy of a document, and what the operations of RFC 6902 make of it."""

    def __init__(self, document):
        self.document = copy.deepcopy(document)

    def put(self, pointer, value, replace=False):
        path = steps(pointer)
        if not path:
            self.document = value
            return
        parent, last = value_at(self.document, path[:-1]), path[-1]
        if isinstance(parent, list) and not replace:
            at = len(parent) if last == "-" else int(last)
            if at > len(parent):
                raise IndexError(pointer)
            parent.insert(at, value)
            return
        if replace and isinstance(parent, dict) and last not in parent:
            raise KeyError(pointer)
        parent[int(last) if isinstance(parent, list) else last] = value

    def remove(self, pointer):
        path = steps(pointer)
        parent = value_at(self.document, path[:-1])
        return parent.pop(int(path[-1]) if isinstance(parent, list) else path[-1])

    def apply(self, operation):
        kind, pointer = operation["op"], operation["path"]
        if kind in ("add", "replace"):
            self.put(pointer, copy.deepcopy(operation["value"]), replace=kind == "replace")
        elif kind == "remove":
            self.remove(pointer)
        elif kind == "move":
            self.put(pointer, self.remove(operation["from"]))
        elif kind == "copy":
            self.put(pointer, copy.deepcopy(value_at(self.document, steps(operation["from"]))))
        elif kind != "test":
            raise Refused(422, "Invalid", f"unknown operation {kind}")
        elif value_at(self.document, steps(pointer)) != operation["value"]:
            raise Refused(422, "Invalid", f"test failed at {pointer}")


def apply_json_patch(document, operations):
    patched = Patched(document)
    for operation in operations:
        try:
            patched.apply(operation)
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise Refused(422, "Invalid", f"the patch does not fit at {operation}: {error!r}") from None
    return patched.document
