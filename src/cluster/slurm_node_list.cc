#include "cluster/slurm_node_list.h"

#include <cctype>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/status.h"
#include "cluster/text.h"

namespace capstan {
namespace {

constexpr size_t kMaxDigits = 9;  // fits an int
constexpr size_t kMaxHostName = 253;

// Parses one list from left to right.
class NodeListParser {
 public:
  explicit NodeListParser(std::string_view list) : list_(list) {}

  absl::StatusOr<std::vector<std::string>> Parse() {
    do {
      CAPSTAN_RETURN_IF_ERROR(ParseItem());
    } while (Accept(','));
    if (at_ < list_.size()) return Unexpected();
    return std::move(hosts_);
  }

 private:
  bool Sees(char c) const { return at_ < list_.size() && list_[at_] == c; }

  bool Accept(char c) {
    if (!Sees(c)) return false;
    ++at_;
    return true;
  }

  bool SeesDigit() const {
    return at_ < list_.size() && list_[at_] >= '0' && list_[at_] <= '9';
  }

  bool SeesText() const {
    return at_ < list_.size() &&
           (std::isalnum(static_cast<unsigned char>(list_[at_])) != 0 ||
            Sees('.') || Sees('-') || Sees('_'));
  }

  absl::Status Fail(std::string_view why) const {
    return Invalid("node list {}: column {}: {}", Quoted(list_), at_ + 1, why);
  }

  absl::Status Unexpected() const {
    if (at_ >= list_.size()) return Fail("it ends too early");
    return Fail(fmt::format("unexpected {}", Quoted(list_.substr(at_, 1))));
  }

  // Adds the hosts of one item to hosts_.
  absl::Status ParseItem() {
    std::vector<std::string> names = {""};
    const size_t start = at_;
    while (SeesText() || Sees('[')) {
      std::vector<std::string> parts;
      CAPSTAN_RETURN_IF_ERROR(Sees('[') ? ParseBrackets(parts)
                                        : ParseText(parts));
      CAPSTAN_RETURN_IF_ERROR(Append(parts, names));
    }
    if (at_ == start) return Unexpected();
    if (hosts_.size() + names.size() > kMaxSlurmList) return TooMany();
    hosts_.insert(hosts_.end(), names.begin(), names.end());
    return absl::OkStatus();
  }

  absl::Status ParseText(std::vector<std::string>& parts) {
    const size_t start = at_;
    while (SeesText()) ++at_;
    parts.emplace_back(list_.substr(start, at_ - start));
    return absl::OkStatus();
  }

  absl::Status ParseBrackets(std::vector<std::string>& parts) {
    Accept('[');
    do {
      CAPSTAN_RETURN_IF_ERROR(ParseRange(parts));
    } while (Accept(','));
    return Accept(']') ? absl::OkStatus() : Unexpected();
  }

  absl::Status ParseRange(std::vector<std::string>& parts) {
    const size_t start = at_;
    const absl::StatusOr<std::string_view> first = ParseDigits();
    CAPSTAN_RETURN_IF_ERROR(first.status());
    absl::StatusOr<std::string_view> last = first;
    if (Accept('-')) last = ParseDigits();
    CAPSTAN_RETURN_IF_ERROR(last.status());
    const int low = *ParseWhole(*first, 0, INT32_MAX);
    const int high = *ParseWhole(*last, 0, INT32_MAX);
    if (low > high) {
      return Fail(fmt::format("the range {} runs backwards",
                              list_.substr(start, at_ - start)));
    }
    if (high - low >= kMaxSlurmList - static_cast<int>(parts.size())) {
      return TooMany();
    }
    for (int number = low; number <= high; ++number) {
      parts.push_back(fmt::format("{:0{}}", number, first->size()));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::string_view> ParseDigits() {
    const size_t start = at_;
    while (SeesDigit()) ++at_;
    if (at_ == start) return Unexpected();
    if (at_ - start > kMaxDigits) {
      return Fail(fmt::format("a number of more than {} digits", kMaxDigits));
    }
    return list_.substr(start, at_ - start);
  }

  // Appends every part to every name; the parts vary fastest.
  absl::Status Append(const std::vector<std::string>& parts,
                      std::vector<std::string>& names) const {
    if (names.size() * parts.size() > kMaxSlurmList) return TooMany();
    std::vector<std::string> longer;
    longer.reserve(names.size() * parts.size());
    for (const std::string& name : names) {
      for (const std::string& part : parts) longer.push_back(name + part);
    }
    if (longer.front().size() > kMaxHostName) {
      return Fail(
          fmt::format("a host name of more than {} letters", kMaxHostName));
    }
    names = std::move(longer);
    return absl::OkStatus();
  }

  absl::Status TooMany() const {
    return Fail(fmt::format("more than {} hosts", kMaxSlurmList));
  }

  const std::string_view list_;
  size_t at_ = 0;
  std::vector<std::string> hosts_;
};

// The numbers that one entry, "2" or "2(x3)", expands to.
struct Entry {
  int tasks;
  int times;
};

std::optional<Entry> ParseEntry(std::string_view text) {
  std::optional<int> times = 1;
  if (const size_t open = text.find("(x"); open != std::string_view::npos) {
    if (!text.ends_with(')')) return std::nullopt;
    const size_t from = open + 2;
    times =
        ParseWhole(text.substr(from, text.size() - 1 - from), 1, kMaxSlurmList);
    text = text.substr(0, open);
  }
  const std::optional<int> tasks = ParseWhole(text, 1, kMaxSlurmList);
  if (!tasks.has_value() || !times.has_value()) return std::nullopt;
  return Entry{*tasks, *times};
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ExpandNodeList(std::string_view list) {
  return NodeListParser(list).Parse();
}

absl::StatusOr<std::vector<int>> ExpandTasksPerNode(std::string_view list) {
  std::vector<int> counts;
  int64_t total = 0;
  for (size_t start = 0; start <= list.size();) {
    const size_t end = std::min(list.find(',', start), list.size());
    const std::string_view text = list.substr(start, end - start);
    const std::optional<Entry> entry = ParseEntry(text);
    if (!entry.has_value()) {
      return Invalid("{}: {} is not a number of tasks, such as 2 or 2(x3)",
                     Quoted(list), Quoted(text));
    }
    total += int64_t{entry->tasks} * entry->times;
    if (total > kMaxSlurmList) {
      return Invalid("{}: more than {} tasks", Quoted(list), kMaxSlurmList);
    }
    counts.insert(counts.end(), static_cast<size_t>(entry->times),
                  entry->tasks);
    start = end + 1;
  }
  return counts;
}

}  // namespace capstan
