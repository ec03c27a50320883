// The GPUs of the host for a program that does not sample: asks the drivers through the GPU probe, whose thread may be
// left behind when a driver hangs.
#pragma once
#include "model/run.h"
#include "os/file.h"

namespace tacho {

// host_gpu_* into host, where a driver answers within two seconds. Without a GPU it costs a look for the libraries.
void find_host_gpu(const Roots& roots, Host& host);

}  // namespace tacho
