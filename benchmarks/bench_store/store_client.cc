#include "bench_store/store_client.h"

#include "base/random.h"
#include "base/status.h"
#include "bench_store/store_server.h"
#include "transport/peer_channel.h"

namespace capstan {

StoreClient::StoreClient(Clock& clock, Network& network,
                         const std::string& address) {
  ChannelOptions options;
  options.self = StoreHello("chief");
  options.address = address;
  std::vector<std::unique_ptr<Channel>> channels;
  channels.push_back(NewPeerChannel(clock, network, logger_, Random::FromOs(),
                                    thread_.executor(), std::move(options)));
  client_ = std::make_unique<ParameterClient>(
      clock, thread_.executor(), std::move(channels), Random::FromOs());
}

StoreClient::~StoreClient() { thread_.Stop(); }

absl::Status StoreClient::Create(std::vector<VariableSpec> specs) {
  ++generation_;
  const absl::StatusOr<ShardMap> empty =
      ShardMap::Make(generation_, generation_, 1, {});
  if (!empty.ok()) return empty.status();
  const std::vector<VariableSpec> names = specs;
  const absl::StatusOr<ShardMap> map =
      AddVariables(*empty, std::move(specs), FixedShards(1));
  if (!map.ok()) return map.status();
  CAPSTAN_RETURN_IF_ERROR(Run(client_->Install(*map, /*term=*/1,
                                               /*watermark=*/0)));
  ids_.clear();
  for (const VariableSpec& spec : names) {
    ids_.push_back(map->Find(spec.name)->id);
  }
  return absl::OkStatus();
}

}  // namespace capstan
