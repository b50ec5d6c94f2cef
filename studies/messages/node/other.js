// The other one of two threads.
'use strict';

const { parentPort, workerData } = require('node:worker_threads');

const { DONE, following } = require('./account.js');

const ROUND = 1_000_000;

// What it does, whenever the first has a message for it.
const OTHERS = {
  sendRound(x) {
    return () => {
      for (let sent = 0; sent < ROUND; sent++) {
        x = following(x);
        parentPort.postMessage(x);
      }
      parentPort.postMessage(DONE);
    };
  },
  sendOnCredit(x) {
    return (credit) => {
      for (; credit > 0; credit--) {
        x = following(x);
        parentPort.postMessage(x);
      }
    };
  },
  answer() {
    return (payload) => parentPort.postMessage(payload);
  },
};

parentPort.on('message', OTHERS[workerData.name](workerData.seed));
