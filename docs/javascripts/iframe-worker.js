/* Browsers refuse workers to pages opened as files. There, the worker of the search runs in a hidden frame instead. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      this.inside = frame.contentWindow
      this.inside.postMessage = (data) => this.hand(this, data)
      this.ready = new Promise((resolve) => {
        const script = this.inside.document.createElement("script")
        script.src = url
        script.onload = resolve
        this.inside.document.head.append(script)
      })
    }
    hand(target, data) {
      const event = new MessageEvent("message", { data })
      target.dispatchEvent(event)
      if (typeof target.onmessage === "function") target.onmessage(event)
    }
    postMessage(data) {
      this.ready.then(() => this.hand(this.inside, data))
    }
    terminate() {}
  }
}
