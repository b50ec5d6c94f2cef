import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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
    private final Account account;
    /** The payload that was made last. Only the thread that makes them looks at it. */
    private int x;

    private Works(ThreadFactory threads, int batch, int seed, double seconds) {
        this.threads = threads;
        this.batch = batch;
        x = seed;
        account = new Account(seconds);
    }

    /** Does what the arguments say, on such threads; so many of them are a batch that is created. */
    static void run(String[] arguments, ThreadFactory threads, int batch) throws Exception {
        List<String> given = List.of(arguments);
        String does = given.get(given.indexOf("--does") + 1);
        int seed = Integer.parseInt(given.get(given.indexOf("--seed") + 1));
        double seconds = Double.parseDouble(given.get(given.indexOf("--seconds") + 1));
        System.out.println("{\"ready\": true}");
        Works works = new Works(threads, batch, seed, seconds);
        System.out.println("{\"result\": {" + works.start(() -> works.work(does)).get() + "}}");
    }

    private <T> FutureTask<T> start(Callable<T> callable) {
        FutureTask<T> task = new FutureTask<>(callable);
        threads.newThread(task).start();
        return task;
    }

    private String work(String does) throws Exception {
        return switch (does) {
            case "oneway-unbounded" -> oneWayUnbounded();
            case "oneway-1" -> oneWay(1);
            case "oneway-64" -> oneWay(64);
            case "oneway-1024" -> oneWay(1024);
            case "pingpong" -> pingPong();
            case "ring" -> ring();
            case "spawn" -> spawn();
            case "switch" -> hand();
            default -> throw new IllegalArgumentException("it can't do " + does);
        };
    }

    private int next() {
        x = Account.next(x);
        return x;
    }

    private String oneWayUnbounded() throws InterruptedException {
        BlockingQueue<Integer> queue = new LinkedBlockingQueue<>();
        BlockingQueue<Integer> confirmed = new LinkedBlockingQueue<>();
        start(() -> {
            while (true) {
                for (int sent = 0; sent < ROUND; sent++) {
                    queue.put(next());
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

    private String oneWay(int capacity) throws InterruptedException {
        BlockingQueue<Integer> queue = new ArrayBlockingQueue<>(capacity);
        start(() -> {
            while (true) {
                queue.put(next());
            }
        });
        while (account.add(queue.take())) {}
        return "";
    }

    private String pingPong() throws InterruptedException {
        BlockingQueue<Integer> ping = new ArrayBlockingQueue<>(1);
        BlockingQueue<Integer> pong = new ArrayBlockingQueue<>(1);
        start(() -> {
            while (true) {
                pong.put(ping.take());
            }
        });
        do {
            ping.put(next());
        } while (account.add(pong.take()));
        return "";
    }

    private String ring() throws InterruptedException {
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
        Token token = new Token(x, 0, 0);
        do {
            first.put(token);
            token = last.take().hop();
        } while (account.takeOver(token));
        return "";
    }

    private String spawn() throws Exception {
        long before = residentBytes();
        long bytesEach = 0;
        do {
            CountDownLatch begun = new CountDownLatch(batch);
            CountDownLatch released = new CountDownLatch(1);
            List<FutureTask<Integer>> tasks = new ArrayList<>(batch);
            for (int task = 0; task < batch; task++) {
                Integer payload = next();
                tasks.add(start(() -> {
                    begun.countDown();
                    released.await();
                    return payload;
                }));
            }
            // One that hasn't begun when all are released would never wait.
            begun.await();
            if (account.done() == 0) {
                bytesEach = (residentBytes() - before) / batch;
            }
            released.countDown();
            for (FutureTask<Integer> task : tasks) {
                account.count(task.get());
            }
        } while (account.tell());
        return "\"bytes_each\": " + bytesEach;
    }

    /** For threads that take turns on one carrier: what they share needs no other protection. */
    private String hand() throws Exception {
        Callable<String> task = () -> {
            while (account.add(next())) {
                Thread.yield();
            }
            return "";
        };
        start(task);
        return task.call();
    }

    private static long residentBytes() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmRSS:")) {
                return 1024 * Long.parseLong(line.replaceAll("\\D", ""));
            }
        }
        throw new IOException("its status doesn't tell its memory");
    }
}
