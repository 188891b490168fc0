#include <utility>

#include "base/error.h"
#include "capstan/dataset.h"
#include "dataset/range/cut.h"
#include "dataset/range/range_ledger.h"
#include "dataset/range/range_position.h"

namespace capstan {

DataTicket::DataTicket(const std::shared_ptr<RangeLedger>& ledger,
                       uint64_t term, const DataRange& range) noexcept
    : ledger_(ledger), term_(term), range_(range) {}

DataTicket::DataTicket(DataTicket&& other) noexcept = default;

DataTicket& DataTicket::operator=(DataTicket&& other) noexcept {
  if (this == &other) return *this;
  GiveBack();
  ledger_ = std::move(other.ledger_);
  term_ = other.term_;
  range_ = other.range_;
  return *this;
}

DataTicket::~DataTicket() { GiveBack(); }

void DataTicket::Done() noexcept {
  const std::shared_ptr<RangeLedger> ledger = ledger_.lock();
  ledger_.reset();
  if (ledger) ledger->Done(term_, {range_.epoch, range_.index});
}

void DataTicket::GiveBack() noexcept {
  const std::shared_ptr<RangeLedger> ledger = ledger_.lock();
  ledger_.reset();
  if (ledger) ledger->GiveBack(term_, {range_.epoch, range_.index});
}

DataRanges::DataRanges(const DataRangesOptions& options) {
  ThrowIfError(CheckOptions(options));
  ledger_ = std::make_shared<RangeLedger>(options);
}

DataRanges::DataRanges(DataRanges&&) noexcept = default;
DataRanges& DataRanges::operator=(DataRanges&&) noexcept = default;
DataRanges::~DataRanges() = default;

std::optional<DataTicket> DataRanges::Next() {
  const std::optional<RangeLedger::Lease> lease = ledger_->Take();
  if (!lease) return std::nullopt;
  return DataTicket(ledger_, lease->term, lease->range);
}

uint64_t DataRanges::epoch() const { return ledger_->epoch(); }

uint64_t DataRanges::steps_per_epoch() const {
  return ledger_->ranges_per_epoch();
}

size_t DataRanges::outstanding() const { return ledger_->num_out(); }

std::string DataRanges::Save() const {
  return FormatPosition(ledger_->position());
}

void DataRanges::Restore(std::string_view position) {
  ThrowIfError(ledger_->GoTo(ValueOrThrow(ParsePosition(position))));
}

}  // namespace capstan
