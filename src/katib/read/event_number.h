// Numbers of event files as the existing collector prints them: the shortest digits that give the number again in its
// own type, always with a ".0" or an exponent on floats; plain for 1e-4 ≤ abs < 1e16, else with an exponent of two
// digits at least. Pure.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tacho {

void put_number(std::string& to, double value);  // also a float32 that was widened
void put_number(std::string& to, float value);
void put_half(std::string& to, uint16_t bits);  // IEEE 754 binary16

// The only number of a TensorProto; false when it has none, several, or no numbers at all.
bool put_tensor_scalar(std::string& to, std::string_view tensor);

}  // namespace tacho
