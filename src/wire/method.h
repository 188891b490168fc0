// What can be asked of a task. The numbers are on the wire: never reuse one.
#pragma once

#include <cstdint>

namespace capstan {

enum class Method : uint16_t {
  // Probe: measures a link (`capstan doctor`, bench_wire, the tests).
  kProbeEcho = 1,    // answers the same body and attachments
  kProbeSink = 2,    // receives the attachments and answers their size
  kProbeSource = 3,  // answers with as many bytes as asked for

  // Membership (wire/membership.h).
  kMemberBeat = 16,  // the coordinator to a task: I am here, are you?
  kMemberEnd = 17,   // the coordinator to a task: the job is over
  kTaskStatus = 18,  // anybody to a task: its TaskReport
  kJobStatus = 19,   // anybody to the coordinator: its JobReport
};

}  // namespace capstan
