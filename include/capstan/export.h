// CAPSTAN_EXPORT marks what a shared library that contains Capstan must export,
// even when it is compiled with -fvisibility=hidden: functions that are called
// from outside it, and the classes thrown across its boundary.
#pragma once

#define CAPSTAN_EXPORT __attribute__((visibility("default")))
