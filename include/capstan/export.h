// CAPSTAN_EXPORT marks what a shared library that contains Capstan must show,
// even when it is compiled with -fvisibility=hidden: functions that are called
// from outside it, and the classes thrown across its border.
#pragma once

#define CAPSTAN_EXPORT __attribute__((visibility("default")))
