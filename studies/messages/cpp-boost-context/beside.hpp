// Where a fiber works.

#pragma once

#include <boost/fiber/fiber.hpp>

#include <functional>
#include <thread>
#include <utility>

#include "../cpp/messages.hpp"

/// What works beside the main fiber: on a second core a thread with fibers of its own, as
/// the library's default scheduler leaves each fiber on the thread that made it.
class Beside {
public:
    explicit Beside(std::function<void()> work) {
        if (messages::cores() > 1) {
            thread_ = std::thread{std::move(work)};
        } else {
            fiber_ = boost::fibers::fiber{std::move(work)};
        }
    }

    ~Beside() {
        if (thread_.joinable()) {
            thread_.join();
        } else {
            fiber_.join();
        }
    }

private:
    std::thread thread_;
    boost::fibers::fiber fiber_;
};
