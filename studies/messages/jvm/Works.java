import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;

/**
 * What a message between two threads costs, over the queues of java.util.concurrent. Each work
 * returns what its result has.
 */
final class Works {
    private static final int ROUND = 1_000_000;
    /** What ends a round. No payload is 0. */
    private static final Integer DONE = 0;
    private static final int RING = 1_000;

    private final ThreadFactory threads;
    private final int batch;
    private final Payloads payloads;
    private final Account account;

    Works(ThreadFactory threads, int batch, Payloads payloads, Account account) {
        this.threads = threads;
        this.batch = batch;
        this.payloads = payloads;
        this.account = account;
    }

    <T> FutureTask<T> start(Callable<T> callable) {
        FutureTask<T> task = new FutureTask<>(callable);
        threads.newThread(task).start();
        return task;
    }

    String oneWayUnbounded() throws InterruptedException {
        BlockingQueue<Integer> queue = new LinkedBlockingQueue<>();
        BlockingQueue<Integer> confirmed = new LinkedBlockingQueue<>();
        start(() -> {
            while (true) {
                for (int sent = 0; sent < ROUND; sent++) {
                    queue.put(payloads.next());
                }
                queue.put(DONE);
                confirmed.take();
            }
        });
        int longest = 0;
        while (true) {
            Integer payload = queue.take();
            if (payload.equals(DONE)) {
                confirmed.put(DONE);
            } else if (!account.add(payload)) {
                return "\"longest_queue\": " + longest;
            } else if (account.done() % Account.CLOCK_EVERY == 0) {
                longest = Math.max(longest, queue.size());
            }
        }
    }

    String oneWay(int capacity) throws InterruptedException {
        BlockingQueue<Integer> queue = new ArrayBlockingQueue<>(capacity);
        start(() -> {
            while (true) {
                queue.put(payloads.next());
            }
        });
        while (account.add(queue.take())) {}
        return "";
    }

    String pingPong() throws InterruptedException {
        BlockingQueue<Integer> ping = new ArrayBlockingQueue<>(1);
        BlockingQueue<Integer> pong = new ArrayBlockingQueue<>(1);
        start(() -> {
            while (true) {
                pong.put(ping.take());
            }
        });
        do {
            ping.put(payloads.next());
        } while (account.add(pong.take()));
        return "";
    }

    String ring() throws InterruptedException {
        BlockingQueue<Token> first = new ArrayBlockingQueue<>(1);
        BlockingQueue<Token> last = first;
        for (int task = 1; task < RING; task++) {
            BlockingQueue<Token> in = last;
            BlockingQueue<Token> out = new ArrayBlockingQueue<>(1);
            start(() -> {
                while (true) {
                    out.put(in.take().hop());
                }
            });
            last = out;
        }
        Token token = new Token(payloads.last(), 0, 0);
        do {
            first.put(token);
            token = last.take().hop();
        } while (account.takeOver(token));
        return "";
    }

    String spawn() throws Exception {
        long before = Memory.residentBytes();
        long bytesEach = 0;
        do {
            CountDownLatch begun = new CountDownLatch(batch);
            CountDownLatch released = new CountDownLatch(1);
            List<FutureTask<Integer>> tasks = new ArrayList<>(batch);
            for (int task = 0; task < batch; task++) {
                Integer payload = payloads.next();
                tasks.add(start(() -> {
                    begun.countDown();
                    released.await();
                    return payload;
                }));
            }
            // One that hasn't begun when all are released would never wait.
            begun.await();
            if (account.done() == 0) {
                bytesEach = (Memory.residentBytes() - before) / batch;
            }
            released.countDown();
            for (FutureTask<Integer> task : tasks) {
                account.count(task.get());
            }
        } while (account.tell());
        return "\"bytes_each\": " + bytesEach;
    }

    /** For threads that take turns on one carrier: what they share needs no other protection. */
    String hand() throws Exception {
        Callable<String> task = () -> {
            while (account.add(payloads.next())) {
                Thread.yield();
            }
            return "";
        };
        start(task);
        return task.call();
    }
}
