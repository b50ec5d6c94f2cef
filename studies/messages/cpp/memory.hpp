// How much memory tasks take.

#pragma once

#include <unistd.h>

#include <cstdint>
#include <fstream>

#include "messages.hpp"

namespace messages {

/// The bytes of this process that are in memory.
inline std::uint64_t resident_bytes() {
    std::ifstream statm{"/proc/self/statm"};
    std::uint64_t all = 0;
    std::uint64_t resident = 0;
    statm >> all >> resident;
    return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

/// What tasks take of the memory, measured when the first batch of them is alive.
class Growth {
public:
    void all_are_alive(std::uint64_t tasks) {
        if (bytes_each_ == 0) {
            bytes_each_ = (resident_bytes() - before_) / tasks;
        }
    }

    Result result() const { return {{"bytes_each", bytes_each_}}; }

private:
    std::uint64_t before_ = resident_bytes();
    std::uint64_t bytes_each_ = 0;
};

}  // namespace messages
