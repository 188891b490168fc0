#include "train/callback/callback_state.h"

#include <nlohmann/json.hpp>

namespace capstan {

using Json = nlohmann::json;

std::string EncodeState(std::initializer_list<std::optional<double>> numbers) {
  Json json = Json::array();
  for (const std::optional<double>& number : numbers) {
    json.push_back(number ? Json(*number) : Json());
  }
  return json.dump();
}

std::vector<std::optional<double>> DecodeState(const std::string& text,
                                               size_t count) {
  std::vector<std::optional<double>> numbers(count);
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_array() || json.size() != count) return numbers;
  for (size_t i = 0; i < count; ++i) {
    if (json[i].is_number()) numbers[i] = json[i].get<double>();
  }
  return numbers;
}

}  // namespace capstan
