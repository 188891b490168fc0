#include "dataset/format/input_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/bytes.h"
#include "dataset/gzip_test.h"
#include "dataset/read_all_test.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

class InputStreamTest : public ::testing::Test {
 protected:
  // What ReadRest gives of a file with this content.
  absl::StatusOr<std::string> Rest(std::string_view content,
                                   std::uint64_t promised) {
    WriteText(dir_ / "f", content);
    auto stream = InputStream::Open(dir_ / "f");
    if (!stream.ok()) return stream.status();
    absl::StatusOr<Buffer> rest = (*stream)->ReadRest(promised);
    if (!rest.ok()) return rest.status();
    return std::string(AsText(rest->bytes()));
  }

  testing::TempDir dir_;
};

TEST_F(InputStreamTest, ReadsAsMuchAsIsAskedFor) {
  const std::string plain(200'000, 'x');
  for (const std::string& content : {plain, Gzipped(plain)}) {
    WriteText(dir_ / "f", content);
    auto stream = InputStream::Open(dir_ / "f");
    ASSERT_TRUE(stream.ok());
    std::string got(150'000, '\0');
    const auto bytes = std::as_writable_bytes(std::span(got));
    EXPECT_EQ(*(*stream)->Read(bytes), got.size());
    EXPECT_EQ(*(*stream)->Read(bytes), plain.size() - got.size());
    EXPECT_EQ(*(*stream)->Read(bytes), 0u);
    EXPECT_EQ(got, plain.substr(0, got.size()));
  }
}

TEST_F(InputStreamTest, ReadsSeveralMembers) {
  // What follows the last member is ignored.
  for (const char* end : {"", "\x1f", "ab"}) {
    EXPECT_EQ(*Rest(Gzipped("ab") + Gzipped("") + Gzipped("c") + end, 3),
              "abc");
  }
}

TEST_F(InputStreamTest, ReadsWhatIsPromisedAndNoMore) {
  const std::string compressed = Gzipped("abc");
  EXPECT_EQ(*Rest(compressed, 3), "abc");
  EXPECT_EQ(*Rest("abc", 3), "abc");
  EXPECT_EQ(*Rest("", 0), "");
  EXPECT_EQ(*Rest(Gzipped(""), 0), "");
  const auto refused = [&](std::string_view content, std::uint64_t promised) {
    return std::string(Rest(content, promised).status().message());
  };
  EXPECT_THAT(refused("abc", 2), HasSubstr("2 bytes, and there are 3"));
  EXPECT_THAT(refused("abc", 4), HasSubstr("4 bytes, and there are 3"));
  EXPECT_THAT(refused(compressed, 2), HasSubstr("2 bytes, and there are more"));
  EXPECT_THAT(refused(compressed, 4), HasSubstr("4 bytes, and there are 3"));
  // More than any file of this size can hold: nothing is allocated for it.
  EXPECT_THAT(refused(compressed, std::uint64_t{1} << 60),
              HasSubstr("and there are at most "));
}

TEST_F(InputStreamTest, ChecksTheChecksum) {
  std::string content = Gzipped("abc");
  content[content.size() - 8] ^= 1;
  EXPECT_THAT(Rest(content, 3),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("is damaged")));
  EXPECT_THAT(Rest(Gzipped("abc").substr(0, 20), 3),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("cut short")));
}

}  // namespace
}  // namespace capstan
