// A robot's connection, and the rooms that robots are in.

#pragma once

// First, as Boost 1.74's awaitable.hpp uses it without saying so.
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace net = boost::asio;
using tcp = net::ip::tcp;

/// A frame with its length before it, shared by all to whom it goes.
using Frame = std::shared_ptr<std::string const>;

class Robot;

/// Who is in a room. Robots of any thread speak there.
class Room {
public:
    explicit Room(std::uint32_t number) : number{number} {}

    /// Hands a frame to all members.
    void say(Frame const& frame);

    std::uint32_t const number;

private:
    friend class Rooms;
    std::mutex mutex_;
    std::unordered_set<std::shared_ptr<Robot>> members_;
};

/// The rooms in which there is somebody.
class Rooms {
public:
    /// The robot is a member from now on, and hears its own words before any others.
    std::shared_ptr<Room> join(std::uint32_t number, std::shared_ptr<Robot> const& robot,
                               Frame const& words);
    void leave(Room& room, std::shared_ptr<Robot> const& robot);

private:
    std::mutex mutex_;
    std::unordered_map<std::uint32_t, std::shared_ptr<Room>> rooms_;
};

class Robot : public std::enable_shared_from_this<Robot> {
public:
    /// The socket's executor is a strand.
    explicit Robot(tcp::socket socket) : socket_{std::move(socket)} {}

    /// Takes in what a robot says, until its connection ends.
    static net::awaitable<void> serve(std::shared_ptr<Robot> robot, Rooms& rooms);

    /// Has a frame wait for the robot. Any thread may call it.
    void send(Frame const& frame);

private:
    bool take(Rooms& rooms, std::string& input);
    void hear(Rooms& rooms, Frame const& frame);
    void write();

    tcp::socket socket_;
    std::shared_ptr<Room> room_;
    /// What is being written.
    std::vector<Frame> going_;

    /// Of what follows.
    std::mutex mutex_;
    std::vector<Frame> waiting_;
    std::size_t waiting_bytes_ = 0;
    bool is_writing_ = false;
};
