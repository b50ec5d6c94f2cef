#include "robot.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <string_view>

namespace {

/// Bytes of a frame's length.
constexpr std::size_t length_bytes = 2;
/// Bytes of the frame that joins a room: its length, J and the room's number.
constexpr std::size_t join_bytes = length_bytes + 5;
/// Bytes that are read at once, if frames aren't longer.
constexpr std::size_t read_bytes = 4096;
/// A robot for whom more bytes wait is cut.
constexpr std::size_t waiting_max = 1 << 20;

/// A number of so many bytes, big-endian.
std::uint32_t number_of(std::string_view bytes) {
    std::uint32_t number = 0;
    for (unsigned char const byte : bytes) {
        number = number << 8 | byte;
    }
    return number;
}

}  // namespace

void Room::say(Frame const& frame) {
    std::lock_guard const lock{mutex_};
    for (auto const& member : members_) {
        member->send(frame);
    }
}

std::shared_ptr<Room> Rooms::join(std::uint32_t number, std::shared_ptr<Robot> const& robot,
                                  Frame const& words) {
    std::lock_guard const lock{mutex_};
    auto& room = rooms_[number];
    if (!room) {
        room = std::make_shared<Room>(number);
    }
    std::lock_guard const lock_of_room{room->mutex_};
    room->members_.insert(robot);
    robot->send(words);
    return room;
}

void Rooms::leave(Room& room, std::shared_ptr<Robot> const& robot) {
    std::lock_guard const lock{mutex_};
    std::lock_guard const lock_of_room{room.mutex_};
    room.members_.erase(robot);
    if (room.members_.empty()) {
        // The robot keeps the room itself for so long.
        rooms_.erase(room.number);
    }
}

net::awaitable<void> Robot::serve(std::shared_ptr<Robot> robot, Rooms& rooms) {
    std::string input;
    boost::system::error_code error;
    auto token = net::redirect_error(net::use_awaitable, error);
    while (!error && robot->take(rooms, input)) {
        input.reserve(input.size() + read_bytes);
        co_await net::async_read(robot->socket_, net::dynamic_buffer(input),
                                 net::transfer_at_least(1), token);
    }
    if (robot->room_) {
        rooms.leave(*robot->room_, robot);
    }
    robot->socket_.close(error);
}

/// Takes whole frames from what came. False where an empty one is among them, which no frame is.
bool Robot::take(Rooms& rooms, std::string& input) {
    std::string_view rest{input};
    while (rest.size() >= length_bytes) {
        auto const bytes = number_of(rest.substr(0, length_bytes));
        if (bytes == 0) {
            return false;
        }
        if (rest.size() < length_bytes + bytes) {
            break;
        }
        hear(rooms, std::make_shared<std::string const>(rest.substr(0, length_bytes + bytes)));
        rest.remove_prefix(length_bytes + bytes);
    }
    input.erase(0, input.size() - rest.size());
    return true;
}

void Robot::hear(Rooms& rooms, Frame const& frame) {
    if (frame->size() == join_bytes && (*frame)[length_bytes] == 'J') {
        if (room_) {
            rooms.leave(*room_, shared_from_this());
        }
        auto const number = number_of(std::string_view{*frame}.substr(length_bytes + 1));
        room_ = rooms.join(number, shared_from_this(), frame);
    } else if (room_) {
        room_->say(frame);
    }
}

void Robot::send(Frame const& frame) {
    std::lock_guard const lock{mutex_};
    if (waiting_bytes_ > waiting_max) {
        return;
    }
    waiting_.push_back(frame);
    waiting_bytes_ += frame->size();
    if (waiting_bytes_ > waiting_max) {
        // The coroutine that reads notices.
        net::post(socket_.get_executor(), [self = shared_from_this()] {
            boost::system::error_code ignored;
            self->socket_.close(ignored);
        });
    } else if (!std::exchange(is_writing_, true)) {
        net::post(socket_.get_executor(), [self = shared_from_this()] { self->write(); });
    }
}

/// Writes all that waits, and what has come to wait meanwhile.
void Robot::write() {
    going_.clear();
    {
        std::lock_guard const lock{mutex_};
        going_.swap(waiting_);
        waiting_bytes_ = 0;
        is_writing_ = !going_.empty();
    }
    if (going_.empty()) {
        return;
    }
    std::vector<net::const_buffer> buffers;
    buffers.reserve(going_.size());
    for (auto const& frame : going_) {
        buffers.push_back(net::buffer(*frame));
    }
    net::async_write(socket_, buffers,
                     [self = shared_from_this()](boost::system::error_code error, std::size_t) {
                         if (!error) {
                             self->write();
                         }
                     });
}
