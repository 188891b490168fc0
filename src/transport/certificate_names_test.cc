#include "transport/certificate_names.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

using std::string_literals::operator""s;

TEST(CertificateNamesTest, RolesAndTasksAreNames) {
  EXPECT_EQ(CertificateName("capstan:ps"), "ps");
  EXPECT_EQ(CertificateName("capstan:worker/3"), "worker/3");
  EXPECT_EQ(CertificateName("capstan:worker/0"), "worker/0");
  EXPECT_EQ(CertificateName("capstan:worker/999999999"), "worker/999999999");
}

TEST(CertificateNamesTest, OtherUrisAreNot) {
  for (const std::string& uri :
       {""s, "capstan"s, "capstan:"s, "capstan:/0"s, "capstan:worker/"s,
        "capstan:worker/03"s, "capstan:worker/-1"s, "capstan:worker/1/2"s,
        "capstan:worker/1234567890"s, "capstan:Worker"s, "capstan:worker 1"s,
        "capstan:ps,admin"s, "capstan:ps\0"s, "CAPSTAN:ps"s,
        "https://example.org/"s, " capstan:ps"s,
        "capstan:" + std::string(33, 'a')}) {
    EXPECT_EQ(CertificateName(uri), std::nullopt) << uri;
  }
}

TEST(CertificateNamesTest, ATaskIsNamedByItselfOrItsRole) {
  EXPECT_TRUE(CertificateNamesTask("worker/3", "worker", 3));
  EXPECT_TRUE(CertificateNamesTask("worker", "worker", 3));
  EXPECT_TRUE(CertificateNamesTask("ps,worker/3", "worker", 3));
  EXPECT_TRUE(CertificateNamesTask("worker/3,ps", "worker", 3));
  EXPECT_FALSE(CertificateNamesTask("worker/3", "worker", 4));
  EXPECT_FALSE(CertificateNamesTask("worker/3", "worker", 33));
  EXPECT_FALSE(CertificateNamesTask("worker/33", "worker", 3));
  EXPECT_FALSE(CertificateNamesTask("worker", "ps", 3));
  EXPECT_FALSE(CertificateNamesTask("", "worker", 3));
  EXPECT_FALSE(CertificateNamesTask("", "", 0));
  EXPECT_FALSE(CertificateNamesTask("worker/3", "", 3));
  EXPECT_FALSE(CertificateNamesTask("ps,worker", "ps,worker", 0));
}

TEST(CertificateNamesTest, ARoleIsNamedByAnyOfItsTasks) {
  EXPECT_TRUE(CertificateNamesRole("worker/3", "worker"));
  EXPECT_TRUE(CertificateNamesRole("ps,worker", "worker"));
  EXPECT_FALSE(CertificateNamesRole("ps", "worker"));
  EXPECT_FALSE(CertificateNamesRole("", "worker"));
  EXPECT_FALSE(CertificateNamesRole("", ""));
}

}  // namespace
}  // namespace capstan
