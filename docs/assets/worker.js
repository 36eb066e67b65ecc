// Search runs in a worker, which browsers refuse to pages that were opened from files. There, a hidden frame takes its
// place: it runs the same script, and gets and sends the same messages.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.waiting = []
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      this.frame.title = "search"
      document.body.append(this.frame)
      const inside = this.frame.contentWindow
      const load = (source) =>
        new Promise((done, failed) => {
          const script = inside.document.createElement("script")
          script.src = new URL(source, location)
          script.onload = done
          script.onerror = failed
          inside.document.body.append(script)
        })
      inside.importScripts = (...sources) => sources.reduce((before, next) => before.then(() => load(next)), Promise.resolve())
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
      load(url).then(() => {
        const sent = this.waiting
        this.waiting = null
        sent.forEach((data) => this.postMessage(data))
      })
    }
    postMessage(data) {
      if (this.waiting) this.waiting.push(data)
      else this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }))
    }
    terminate() {
      this.frame.remove()
    }
  }
}
