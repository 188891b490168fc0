#include "dataset/range/range_position.h"

#include <charconv>
#include <concepts>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace capstan {
namespace {

constexpr std::string_view kMagic = "capstan-ranges";
constexpr std::string_view kVersion = "1";
constexpr size_t kWords = 10;

// More than any run reaches, so that incrementing it cannot overflow.
constexpr uint64_t kMaxEpoch = INT64_MAX;

absl::Status NoPosition(std::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("not a position of DataRanges: ", std::string(why)));
}

// A piece of the text for a message: short, and safe for a terminal.
std::string Quoted(std::string_view text) {
  constexpr size_t kShown = 40;
  const std::string_view shown = text.substr(0, kShown);
  return absl::StrCat("\"", absl::CHexEscape({shown.data(), shown.size()}),
                      shown.size() < text.size() ? "...\"" : "\"");
}

std::vector<std::string> Split(std::string_view text, char separator) {
  return absl::StrSplit(absl::string_view(text.data(), text.size()), separator);
}

// The number that is the whole of `text`, if a T can hold it.
template <std::integral T>
std::optional<T> ParseNumber(std::string_view text) {
  T value = 0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return value;
}

std::optional<RangeId> ParseId(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto epoch = ParseNumber<uint64_t>(text.substr(0, colon));
  const auto index = ParseNumber<uint64_t>(text.substr(colon + 1));
  if (!epoch || !index) return std::nullopt;
  return RangeId{*epoch, *index};
}

// Reads the words "name=value" one after the other. After the first invalid
// word, status() reports it and the rest are not read.
class FieldReader {
 public:
  explicit FieldReader(std::vector<std::string> words)
      : words_(std::move(words)) {}

  const absl::Status& status() const { return status_; }

  // The value of the next word, whose name must be `name`.
  std::string_view Text(std::string_view name) {
    if (!status_.ok()) return {};
    const std::string_view word = words_[next_++];
    if (!word.starts_with(name) || word.substr(name.size(), 1) != "=") {
      Refuse(word, name, "");
      return {};
    }
    return word.substr(name.size() + 1);
  }

  template <std::integral T>
  T Number(std::string_view name) {
    const std::string_view text = Text(name);
    const std::optional<T> value = ParseNumber<T>(text);
    if (!value) Refuse(text, name, "a number");
    return value.value_or(0);
  }

  bool Flag(std::string_view name) {
    const std::string_view text = Text(name);
    if (text != "0" && text != "1") Refuse(text, name, "0 or 1");
    return text == "1";
  }

  std::vector<RangeId> Ids(std::string_view name) {
    std::vector<RangeId> ids;
    const std::string_view text = Text(name);
    if (text.empty()) return ids;
    for (const std::string& part : Split(text, ',')) {
      const std::optional<RangeId> id = ParseId(part);
      if (!id) {
        Refuse(part, name, "a list such as 3:12,3:15");
        break;
      }
      ids.push_back(*id);
    }
    return ids;
  }

 private:
  void Refuse(std::string_view found, std::string_view name,
              std::string_view wanted) {
    if (!status_.ok()) return;
    status_ =
        NoPosition(absl::StrCat(Quoted(found), " where ", std::string(name),
                                "=", std::string(wanted), " should be"));
  }

  std::vector<std::string> words_;
  size_t next_ = 2;  // after the magic and the version
  absl::Status status_;
};

// Refuses numbers that Save cannot have written.
absl::Status CheckPosition(const RangePosition& position) {
  if (absl::Status status = CheckOptions(position.options); !status.ok()) {
    return NoPosition(std::string(status.message()));
  }
  const uint64_t ranges = RangesPerEpoch(position.options);
  if (position.epoch > kMaxEpoch) {
    return NoPosition(
        absl::StrCat("epoch is ", position.epoch, "; the most is ", kMaxEpoch));
  }
  if (position.next > ranges) {
    return NoPosition(absl::StrCat("next is ", position.next,
                                   ", but an epoch has ", ranges, " ranges"));
  }
  const RangeId end = {position.epoch, position.next};
  const RangeId* before = nullptr;
  for (const RangeId& id : position.open) {
    const std::string called = absl::StrCat(id.epoch, ":", id.index);
    if (id.index >= ranges) {
      return NoPosition(absl::StrCat("open has ", called, ", but an epoch has ",
                                     ranges, " ranges"));
    }
    if (id >= end) {
      return NoPosition(absl::StrCat("open has ", called,
                                     ", which comes after epoch ", end.epoch,
                                     ", next ", end.index));
    }
    if (before != nullptr && id <= *before) {
      return NoPosition(absl::StrCat("open has ", called, " after ",
                                     before->epoch, ":", before->index,
                                     "; each comes once, and in order"));
    }
    before = &id;
  }
  return absl::OkStatus();
}

}  // namespace

std::string DescribeOptions(const DataRangesOptions& options) {
  return absl::StrCat("examples=", options.examples, " batch=", options.batch,
                      " seed=", options.seed,
                      " shuffle=", options.shuffle ? 1 : 0,
                      " drop=", options.drop_remainder ? 1 : 0);
}

std::string FormatPosition(const RangePosition& position) {
  const auto format = [](std::string* out, const RangeId& id) {
    absl::StrAppend(out, id.epoch, ":", id.index);
  };
  return absl::StrCat(std::string(kMagic), " ", std::string(kVersion), " ",
                      DescribeOptions(position.options),
                      " epoch=", position.epoch, " next=", position.next,
                      " open=", absl::StrJoin(position.open, ",", format));
}

absl::StatusOr<RangePosition> ParsePosition(std::string_view text) {
  std::vector<std::string> words = Split(text, ' ');
  if (words[0] != kMagic) {
    return NoPosition(absl::StrCat(Quoted(text), " does not begin with \"",
                                   std::string(kMagic), "\""));
  }
  if (words.size() > 1 && words[1] != kVersion) {
    return NoPosition(absl::StrCat("it is of version ", Quoted(words[1]),
                                   "; this program reads version ",
                                   std::string(kVersion)));
  }
  if (words.size() != kWords) {
    return NoPosition(absl::StrCat("it has ", words.size(),
                                   " words; there should be ", kWords));
  }
  FieldReader reader(std::move(words));
  RangePosition position;
  position.options.examples = reader.Number<int64_t>("examples");
  position.options.batch = reader.Number<int64_t>("batch");
  position.options.seed = reader.Number<uint64_t>("seed");
  position.options.shuffle = reader.Flag("shuffle");
  position.options.drop_remainder = reader.Flag("drop");
  position.epoch = reader.Number<uint64_t>("epoch");
  position.next = reader.Number<uint64_t>("next");
  position.open = reader.Ids("open");
  CAPSTAN_RETURN_IF_ERROR(reader.status());
  CAPSTAN_RETURN_IF_ERROR(CheckPosition(position));
  return position;
}

}  // namespace capstan
