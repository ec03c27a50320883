// As much of XML as S3 and STS answers need: the text of the first element of a name, wherever it stands.
//   <?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>
// Pure, thread-safe; never more than one pass over the text.
#pragma once
#include <string>
#include <string_view>

namespace tacho {

// With the five named entities and numeric ones of ASCII decoded. Empty when the element is absent, empty or not
// closed, or when it holds other elements. Attributes and a name-space prefix in the text are ignored.
std::string xml_text(std::string_view document, std::string_view element);

}  // namespace tacho
