// Functions that run on workers, and what they take and return.
//
// A function is registered by name in every task of the job (program.h), and
// called by that name: only the name, the arguments and the result cross the
// wire. Arguments and results are
//
//   bool, integers, float, double, std::string, Tensor, Rows, DataRange,
//   Example, std::vector, std::map, std::tuple, std::pair and std::optional of
//   these, PerWorker<T> (as an argument), and void (as a result).
//
// Other types can be added by specialising Type. The types of a function form
// its signature; a worker whose function has a different signature is detected
// before anything runs there.
// Thread-safety: as the standard containers.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "capstan/dataset.h"
#include "capstan/export.h"
#include "capstan/tensor.h"

namespace capstan {

// Some rows of a variable: row i of `values` belongs to row ids[i]. `ids` is
// i64 of rank 1.
struct Rows {
  Tensor ids = {};
  Tensor values = {};
};

// A serialized value: its bytes, and the tensors in it, which share the memory
// of those that were written.
struct EncodedValue {
  std::string bytes = {};
  std::vector<Tensor> tensors = {};
};

// Writes a value piece by piece.
class CAPSTAN_EXPORT ValueWriter {
 public:
  void Bool(bool value);
  void Int(std::int64_t value);
  void Unsigned(std::uint64_t value);
  void Float(float value);
  void Double(double value);
  void Text(std::string_view value);
  void Put(const Tensor& tensor);
  void List(std::size_t size);  // `size` values follow
  void Absent();                // in place of an optional value
  void Resource(std::uint64_t id);

  EncodedValue Take() noexcept { return std::move(value_); }

 private:
  void Tag(std::uint8_t tag);
  void Varint(std::uint64_t value);

  EncodedValue value_;
};

// Finds what a PerWorker<T> stands for on the worker that reads it; throws if
// that was never created there, or could not be.
using ResourceFinder = std::function<std::shared_ptr<void>(std::uint64_t id)>;

// Reads a value in the order in which it was written. Each function throws
// kInvalidArgument, naming what it found, if the next piece is of another kind
// or is truncated: the bytes may come from anywhere.
class CAPSTAN_EXPORT ValueReader {
 public:
  // The value must outlive the reader. Without a finder, resources are refused.
  explicit ValueReader(const EncodedValue& value, ResourceFinder finder = {});

  bool Bool();
  std::int64_t Int();
  std::uint64_t Unsigned();
  float Float();
  double Double();
  std::string Text();
  Tensor Get();
  // The size of a list; at most the number of bytes left.
  std::size_t List();
  // A list that must have `size` values.
  void List(std::size_t size);
  // True if an optional value is absent, in which case its marker is consumed.
  bool Absent();
  std::shared_ptr<void> Resource();
  // Throws unless all has been read.
  void End() const;

 private:
  void Expect(std::uint8_t tag);
  std::uint8_t Byte();
  std::uint64_t Varint();
  void Raw(void* into, std::size_t size);

  const EncodedValue& value_;
  std::size_t at_ = 0;
  std::size_t tensor_ = 0;
  ResourceFinder finder_;
};

// The name of a C++ type, for signatures and messages.
CAPSTAN_EXPORT std::string NameOfType(const std::type_info& type);
// Throws kInvalidArgument: `value` does not fit `type`.
[[noreturn]] CAPSTAN_EXPORT void ThrowOutOfType(std::string_view value,
                                                std::string_view type);
// Throws kInvalidArgument unless ids and values are as Rows requires.
CAPSTAN_EXPORT void CheckRows(const Rows& rows);

// How values of a type are named, written and read:
//   static std::string Name();
//   static void Write(ValueWriter& writer, const T& value);
//   static T Read(ValueReader& reader);
template <typename T>
struct Type;

// A type that a function can take or return.
template <typename T>
concept Transferable = requires(ValueWriter& writer, ValueReader& reader,
                                const T& value) {
  { Type<T>::Name() } -> std::convertible_to<std::string>;
  Type<T>::Write(writer, value);
  { Type<T>::Read(reader) } -> std::convertible_to<T>;
};

template <>
struct Type<bool> {
  static std::string Name() { return "bool"; }
  static void Write(ValueWriter& writer, bool value) { writer.Bool(value); }
  static bool Read(ValueReader& reader) { return reader.Bool(); }
};

// Characters are not numbers: use a std::string, or a std::uint8_t.
template <typename T>
concept Integer = std::integral<T> && !std::same_as<T, char> &&
                  !std::same_as<T, wchar_t> && !std::same_as<T, char8_t> &&
                  !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

template <Integer T>
struct Type<T> {
  static std::string Name() {
    return (std::is_signed_v<T> ? "i" : "u") + std::to_string(8 * sizeof(T));
  }
  static void Write(ValueWriter& writer, T value) {
    if constexpr (std::is_signed_v<T>) {
      writer.Int(value);
    } else {
      writer.Unsigned(value);
    }
  }
  static T Read(ValueReader& reader) {
    if constexpr (std::is_signed_v<T>) {
      return Narrow(reader.Int());
    } else {
      return Narrow(reader.Unsigned());
    }
  }

 private:
  template <typename Wide>
  static T Narrow(Wide value) {
    if (!std::in_range<T>(value)) {
      ThrowOutOfType(std::to_string(value), Name());
    }
    return static_cast<T>(value);
  }
};

template <>
struct Type<float> {
  static std::string Name() { return "f32"; }
  static void Write(ValueWriter& writer, float value) { writer.Float(value); }
  static float Read(ValueReader& reader) { return reader.Float(); }
};

template <>
struct Type<double> {
  static std::string Name() { return "f64"; }
  static void Write(ValueWriter& writer, double value) { writer.Double(value); }
  static double Read(ValueReader& reader) { return reader.Double(); }
};

template <>
struct Type<std::string> {
  static std::string Name() { return "text"; }
  static void Write(ValueWriter& writer, const std::string& value) {
    writer.Text(value);
  }
  static std::string Read(ValueReader& reader) { return reader.Text(); }
};

template <>
struct Type<Tensor> {
  static std::string Name() { return "tensor"; }
  static void Write(ValueWriter& writer, const Tensor& value) {
    writer.Put(value);
  }
  static Tensor Read(ValueReader& reader) { return reader.Get(); }
};

template <>
struct Type<Rows> {
  static std::string Name() { return "rows"; }
  static void Write(ValueWriter& writer, const Rows& value) {
    CheckRows(value);
    writer.Put(value.ids);
    writer.Put(value.values);
  }
  static Rows Read(ValueReader& reader) {
    Rows rows;
    rows.ids = reader.Get();
    rows.values = reader.Get();
    CheckRows(rows);
    return rows;
  }
};

template <>
struct Type<DataRange> {
  static std::string Name() { return "range"; }
  static void Write(ValueWriter& writer, const DataRange& value) {
    writer.Int(value.begin);
    writer.Int(value.end);
    writer.Unsigned(value.epoch);
    writer.Unsigned(value.index);
  }
  static DataRange Read(ValueReader& reader) {
    DataRange range;
    range.begin = reader.Int();
    range.end = reader.Int();
    range.epoch = reader.Unsigned();
    range.index = reader.Unsigned();
    return range;
  }
};

template <>
struct Type<Example> {
  static std::string Name() { return "example"; }
  static void Write(ValueWriter& writer, const Example& value) {
    writer.List(value.size());
    for (const std::string& name : value.names()) {
      writer.Text(name);
      writer.Put(value[name]);
    }
  }
  static Example Read(ValueReader& reader) {
    Example::Columns columns;
    for (std::size_t left = reader.List(); left > 0; --left) {
      std::string name = reader.Text();
      columns.emplace_back(std::move(name), reader.Get());
    }
    return Example(columns);
  }
};

template <typename T>
struct Type<std::vector<T>> {
  static std::string Name() { return "list<" + Type<T>::Name() + ">"; }
  static void Write(ValueWriter& writer, const std::vector<T>& value) {
    writer.List(value.size());
    for (const auto& item : value) Type<T>::Write(writer, item);
  }
  static std::vector<T> Read(ValueReader& reader) {
    const std::size_t size = reader.List();
    std::vector<T> value;
    value.reserve(size);
    for (std::size_t i = 0; i < size; ++i) {
      value.push_back(Type<T>::Read(reader));
    }
    return value;
  }
};

template <typename K, typename V>
struct Type<std::map<K, V>> {
  static std::string Name() {
    return "map<" + Type<K>::Name() + ", " + Type<V>::Name() + ">";
  }
  static void Write(ValueWriter& writer, const std::map<K, V>& value) {
    writer.List(value.size());
    for (const auto& [key, item] : value) {
      Type<K>::Write(writer, key);
      Type<V>::Write(writer, item);
    }
  }
  static std::map<K, V> Read(ValueReader& reader) {
    const std::size_t size = reader.List();
    std::map<K, V> value;
    for (std::size_t i = 0; i < size; ++i) {
      K key = Type<K>::Read(reader);
      value.insert_or_assign(std::move(key), Type<V>::Read(reader));
    }
    return value;
  }
};

template <typename... Ts>
struct Type<std::tuple<Ts...>> {
  static std::string Name() {
    std::string name = "(";
    ((name += (name.size() > 1 ? ", " : "") + Type<Ts>::Name()), ...);
    return name + ")";
  }
  static void Write(ValueWriter& writer, const std::tuple<Ts...>& value) {
    writer.List(sizeof...(Ts));
    std::apply(
        [&](const Ts&... items) { (Type<Ts>::Write(writer, items), ...); },
        value);
  }
  static std::tuple<Ts...> Read(ValueReader& reader) {
    reader.List(sizeof...(Ts));
    // Braces, because they evaluate in the order of the list.
    return std::tuple<Ts...>{Type<Ts>::Read(reader)...};
  }
};

template <typename A, typename B>
struct Type<std::pair<A, B>> {
  static std::string Name() { return Type<std::tuple<A, B>>::Name(); }
  static void Write(ValueWriter& writer, const std::pair<A, B>& value) {
    writer.List(2);
    Type<A>::Write(writer, value.first);
    Type<B>::Write(writer, value.second);
  }
  static std::pair<A, B> Read(ValueReader& reader) {
    reader.List(2);
    return std::pair<A, B>{Type<A>::Read(reader), Type<B>::Read(reader)};
  }
};

template <typename T>
struct Type<std::optional<T>> {
  static std::string Name() { return "optional<" + Type<T>::Name() + ">"; }
  static void Write(ValueWriter& writer, const std::optional<T>& value) {
    if (value) {
      Type<T>::Write(writer, *value);
    } else {
      writer.Absent();
    }
  }
  static std::optional<T> Read(ValueReader& reader) {
    if (reader.Absent()) return std::nullopt;
    return Type<T>::Read(reader);
  }
};

// Throws kFailedPrecondition: a PerWorker<T> can be used on a worker only.
[[noreturn]] CAPSTAN_EXPORT void ThrowNotOnWorker();

// Something that each worker has one of: an iterator, a table, a model. The
// coordinator creates it (coordinator.h) and passes it to functions, in which
// it refers to the one on the worker that runs them. When the last handle is
// destroyed, the workers destroy theirs.
template <typename T>
class PerWorker {
 public:
  // In a function on a worker; elsewhere throws kFailedPrecondition.
  T& operator*() const { return *get(); }
  T* operator->() const { return get(); }

  // For the handles of the coordinator.
  explicit PerWorker(std::shared_ptr<const std::uint64_t> id)
      : id_(std::move(id)) {}
  const std::shared_ptr<const std::uint64_t>& id() const { return id_; }
  // For those of a worker.
  explicit PerWorker(std::shared_ptr<T> local) : local_(std::move(local)) {}

 private:
  T* get() const {
    if (local_ == nullptr) ThrowNotOnWorker();
    return local_.get();
  }

  std::shared_ptr<const std::uint64_t> id_;
  std::shared_ptr<T> local_;
};

template <typename T>
struct Type<PerWorker<T>> {
  static std::string Name() {
    return "per_worker<" + NameOfType(typeid(T)) + ">";
  }
  static void Write(ValueWriter& writer, const PerWorker<T>& value) {
    if (value.id() == nullptr) ThrowNotOnWorker();
    writer.Resource(*value.id());
  }
  static PerWorker<T> Read(ValueReader& reader) {
    return PerWorker<T>(std::static_pointer_cast<T>(reader.Resource()));
  }
};

// "f64(range, per_worker<Table>)".
template <typename R, typename... Params>
std::string SignatureOf() {
  std::string text;
  if constexpr (std::is_void_v<R>) {
    text = "void(";
  } else {
    text = Type<R>::Name() + "(";
  }
  const std::size_t empty = text.size();
  ((text += (text.size() > empty ? ", " : "") + Type<Params>::Name()), ...);
  return text + ")";
}

struct FunctionOptions {
  // The function updates no variables, for example because it evaluates: it
  // takes no part in the rounds of synchronous training, and updates from it
  // are refused.
  bool reads_only = false;
};

// A function without its types.
struct FunctionInfo {
  std::string name = {};
  std::string signature = {};
  FunctionOptions options = {};
};

// A registered function, which can be scheduled. A handle; cheap to copy.
template <typename R, typename... Params>
class Function {
 public:
  explicit Function(std::shared_ptr<const FunctionInfo> info)
      : info_(std::move(info)) {}
  const std::string& name() const { return info_->name; }
  const std::string& signature() const { return info_->signature; }
  const std::shared_ptr<const FunctionInfo>& info() const { return info_; }

 private:
  std::shared_ptr<const FunctionInfo> info_;
};

// A registered resource or dataset, which is created on each worker.
struct ResourceInfo {
  std::string name = {};
  std::string type = {};
  // A per-worker dataset: created again when its InputContext changes.
  bool input_pipeline = false;
};
template <typename T>
class Resource {
 public:
  explicit Resource(std::shared_ptr<const ResourceInfo> info)
      : info_(std::move(info)) {}
  const std::string& name() const { return info_->name; }
  const std::shared_ptr<const ResourceInfo>& info() const { return info_; }

 private:
  std::shared_ptr<const ResourceInfo> info_;
};

}  // namespace capstan
